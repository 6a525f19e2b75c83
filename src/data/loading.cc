#include "data/loading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tessera {
namespace {

namespace fs = std::filesystem;

bool ends_in(const fs::path& path, std::string_view ending) {
  std::string name = path.filename().string();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name.ends_with(ending);
}

template <typename Wanted>
Result<std::vector<fs::path>> entries_of(const fs::path& folder, Wanted wanted) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (wanted(*entry)) found.push_back(entry->path());
  if (error)
    return Error{"file", fmt::format("{}: cannot list: {}", folder.string(), error.message())};
  std::sort(found.begin(), found.end());
  return found;
}

DecodedHalf decoded(ByteHalf half) {
  return {.bytes = std::move(half.features),
          .targets = std::move(half.targets),
          .users = std::move(half.users)};
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kLengthMax = 100;
  std::string shown;
  for (const char c : text.substr(0, kLengthMax)) shown += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kLengthMax ? shown + "..." : shown;
}

Result<void> require_folder(const fs::path& folder, std::string_view remedy) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return {};
  return Error{"file", fmt::format("{}: there is no such folder; {}", folder.string(), remedy)};
}

Result<std::vector<fs::path>> files_in(const fs::path& folder,
                                       std::span<const std::string_view> endings) {
  return entries_of(folder, [&](const fs::directory_entry& entry) {
    std::error_code error;
    return entry.is_regular_file(error) &&
           std::any_of(endings.begin(), endings.end(),
                       [&](std::string_view ending) { return ends_in(entry.path(), ending); });
  });
}

Result<std::vector<fs::path>> folders_in(const fs::path& folder) {
  return entries_of(folder, [](const fs::directory_entry& entry) {
    std::error_code error;
    return entry.is_directory(error);
  });
}

DecodedData image_data(std::string name, Task task, ByteHalf train, ByteHalf test,
                       Normalization scale) {
  return {.name = std::move(name),
          .task = std::move(task),
          .scale = scale,
          .train = decoded(std::move(train)),
          .test = decoded(std::move(test))};
}

}  // namespace tessera
