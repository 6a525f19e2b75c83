#include "data/sets/leaf_halves.h"

#include <array>
#include <cmath>
#include <map>

#include "base/files.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

using UserNumbers = std::map<std::string, std::uint32_t>;

Result<ByteHalf> read_half(const fs::path& folder, const LeafAppend& append, UserNumbers& numbers) {
  constexpr std::array<std::string_view, 1> kJson = {".json"};
  const Result<std::vector<fs::path>> files = files_in(folder, kJson);
  if (!files) return files.error();
  if (files->empty())
    return Error{"empty", fmt::format("{}: there are no .json files", folder.string())};
  ByteHalf half;
  const LeafSink sink = [&](const LeafUser& user) -> Result<void> {
    const auto number = static_cast<std::uint32_t>(numbers.size());
    half.users.insert(half.users.end(), user.samples(),
                      numbers.try_emplace(user.name, number).first->second);
    return append(user, half);
  };
  for (const fs::path& file : *files) {
    const Result<Bytes> json = read_file(file);
    if (!json) return json.error();
    if (const Result<void> parsed = parse_leaf(*json, sink); !parsed)
      return in_file(file, parsed.error());
  }
  if (half.users.empty())
    return Error{"empty", fmt::format("{}: its files hold no samples", folder.string())};
  return half;
}

}  // namespace

Result<LeafHalves> read_leaf(const fs::path& dir, const LeafAppend& append) {
  constexpr std::string_view kRemedy =
      "dir= names a LEAF folder with train/ and test/; scripts/get_data.sh says how to get one";
  for (const char* half : {"train", "test"})
    if (const Result<void> there = require_folder(dir / half, kRemedy); !there)
      return there.error();
  UserNumbers numbers;
  Result<ByteHalf> train = read_half(dir / "train", append, numbers);
  if (!train) return train.error();
  Result<ByteHalf> test = read_half(dir / "test", append, numbers);
  if (!test) return test.error();
  return LeafHalves{std::move(*train), std::move(*test)};
}

std::string leaf_place(const LeafUser& user, std::size_t i) {
  return fmt::format("user '{}', sample {}", printable(user.name), i);
}

Result<void> append_labels(const LeafUser& user, std::uint32_t classes, ByteHalf& half) {
  if (!user.label_texts.empty())
    return Error{"label", fmt::format("user '{}': y are texts, not classes", printable(user.name))};
  for (std::size_t i = 0; i < user.labels.size(); ++i) {
    const double label = user.labels[i];
    if (!(label >= 0 && label < classes && label == std::floor(label)))
      return Error{"label", fmt::format("{}: label {} is not a class below {}", leaf_place(user, i),
                                        label, classes)};
    half.targets.push_back(static_cast<float>(label));
  }
  return {};
}

}  // namespace tessera
