#include "data/cache.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cstdlib>
#include <optional>

#include "base/descriptor.h"
#include "base/hash.h"
#include "base/output.h"
#include "data/cache_file.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesMax = 2'000'000;

// Of all files below some folders: names, sizes and times.
struct Sources {
  std::uint64_t digest = 0;
  std::uintmax_t bytes = 0;
  std::size_t files = 0;
  bool operator==(const Sources&) const = default;
};

bool add_folder(const fs::path& folder, Sources& sources) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (!entry->is_regular_file(error) || error) continue;
    const std::uintmax_t bytes = entry->file_size(error);
    const auto time = entry->last_write_time(error).time_since_epoch().count();
    if (error || ++sources.files > kFilesMax) return false;
    // A sum, because folders list their files in any order.
    sources.digest += hash_bytes(bytes_of(
        fmt::format("{} {} {}", bytes, time, entry->path().lexically_relative(folder).string())));
    sources.bytes += bytes;
  }
  return !error;
}

// Nothing where a folder cannot be listed: its loader will say why.
std::optional<Sources> look_at(const DataSource& source) {
  Sources sources;
  for (const fs::path& folder : source.folders)
    if (!add_folder(folder, sources)) return std::nullopt;
  return sources;
}

// One file per line and place of the sources; limits are taken of the whole set.
fs::path name_of(Spec spec, const DataSource& source) {
  std::erase_if(spec.options, [](const auto& option) {
    return option.first == "limit" || option.first == "test_limit";
  });
  std::string text = to_string(spec);
  std::error_code error;
  for (const fs::path& folder : source.folders)
    text += '\n' + fs::weakly_canonical(folder, error).string();
  return fmt::format("{}-{:016x}.data", spec.name, hash_bytes(bytes_of(text)));
}

// Held until the file is made. Without locks two processes make the same file, which does no harm.
Descriptor wait_for_turn(const fs::path& file) {
  const fs::path path = file.string() + ".lock";
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.is_open())
    while (::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) continue;
  return lock;
}

void say_not_kept(const std::string& why) {
  static bool said = false;
  if (!std::exchange(said, true))
    print_err(
        "data: decoded for this run alone ({}); TESSERA_CACHE names a folder to keep it in, "
        "or is 'off'\n",
        why);
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{"file", fmt::format("{}: {}", folder.string(), error.message())};
  return {};
}

// What a disk cannot hold twice over would crowd out what matters more.
Result<void> keep(const fs::path& file, const Sources& sources, const DecodedData& data) {
  std::error_code error;
  const std::size_t bytes = bytes_in(data);
  if (const fs::space_info space = fs::space(file.parent_path(), error);
      !error && space.available / 2 < bytes)
    return Error{"space", fmt::format("{}: {} bytes are too many for what is free",
                                      file.parent_path().string(), bytes)};
  return write_cache_file(file, sources.digest, data);
}

bool is_damage(const Error& error) {
  return error.kind != "missing" && error.kind != "stale";
}

Result<DecodedData> make(const fs::path& file, const Sources& sources, const DataSource& source) {
  Result<DecodedData> data = source.decode();
  // A source that changed while it was read may have been read in part.
  if (!data || look_at(source) != sources) return data;
  if (const Result<void> kept = keep(file, sources, *data); !kept) {
    say_not_kept(kept.error().message);
    return data;
  }
  Result<DecodedData> mapped = read_cache_file(file, sources.digest);
  return mapped ? std::move(mapped) : std::move(data);
}

}  // namespace

DataCache users_cache() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string own = variable("TESSERA_CACHE"); !own.empty())
    return {own == "off" ? fs::path() : fs::path(own)};
  if (const fs::path base = variable("XDG_CACHE_HOME"); base.is_absolute())
    return {base / "tessera"};
  if (const fs::path home = variable("HOME"); home.is_absolute())
    return {home / ".cache" / "tessera"};
  return {};
}

Result<DecodedData> decode_once(const DataCache& cache, const Spec& spec,
                                const DataSource& source) {
  if (cache.folder.empty() || source.folders.empty()) return source.decode();
  const std::optional<Sources> sources = look_at(source);
  if (!sources || sources->bytes < cache.bytes_min) return source.decode();
  const fs::path file = cache.folder / name_of(spec, source);
  if (Result<DecodedData> kept = read_cache_file(file, sources->digest)) return kept;
  if (const Result<void> there = make_folder(cache.folder); !there) {
    say_not_kept(there.error().message);
    return source.decode();
  }
  const Descriptor turn = wait_for_turn(file);
  Result<DecodedData> kept = read_cache_file(file, sources->digest);
  if (kept) return kept;
  if (is_damage(kept.error())) print_err("data: {}; it is made anew\n", kept.error().message);
  return make(file, *sources, source);
}

}  // namespace tessera
