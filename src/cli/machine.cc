#include "cli/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>

#include "base/files.h"
#include "base/text.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProcBytesMax = 1 << 16;

std::optional<std::uint64_t> number_at(std::string_view text) {
  text = trimmed(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  return number;
}

// The number on a line such as "MemAvailable:   123 kB".
std::optional<std::uint64_t> line_of(const fs::path& file, std::string_view name) {
  const Result<std::string> text = read_text_file(file, kProcBytesMax);
  if (!text) return std::nullopt;
  for (const std::string_view line : split(*text, '\n'))
    if (line.starts_with(name)) return number_at(line.substr(name.size()));
  return std::nullopt;
}

// Of a control group; none where it has no limit, or there is no such group.
std::optional<std::uint64_t> left_in_group() {
  const fs::path group = "/sys/fs/cgroup";
  const Result<std::string> most = read_text_file(group / "memory.max", kProcBytesMax);
  const Result<std::string> now = read_text_file(group / "memory.current", kProcBytesMax);
  if (!most || !now) return std::nullopt;
  const auto limit = number_at(*most), used = number_at(*now);
  if (!limit || !used) return std::nullopt;
  // Files in memory give way to programs.
  const std::uint64_t files = line_of(group / "memory.stat", "file ").value_or(0);
  const std::uint64_t taken = *used - std::min(*used, files);
  return *limit - std::min(*limit, taken);
}

}  // namespace

unsigned cores_allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1u, static_cast<unsigned>(CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::uint64_t memory_available() {
  const auto kib = line_of("/proc/meminfo", "MemAvailable:");
  return std::min(kib ? *kib * 1024 : UINT64_MAX, left_in_group().value_or(UINT64_MAX));
}

std::uint64_t memory_peak_of(pid_t pid) {
  return line_of(fmt::format("/proc/{}/status", pid), "VmHWM:").value_or(0) * 1024;
}

std::vector<std::string> gpus() {
  std::vector<std::string> found;
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) {
    for (const std::string_view one : split(visible, ',')) found.emplace_back(trimmed(one));
    return found;
  }
  std::error_code none;
  for ([[maybe_unused]] const auto& entry :
       fs::directory_iterator("/proc/driver/nvidia/gpus", none))
    found.push_back(std::to_string(found.size()));
  return found;
}

}  // namespace tessera
