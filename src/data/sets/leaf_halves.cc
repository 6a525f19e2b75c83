#include "data/sets/leaf_halves.h"

#include <array>
#include <cmath>

#include "base/files.h"
#include "data/loading.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

Result<ByteHalf> read_half(const fs::path& folder, const LeafAppend& append, LeafReader& reader) {
  ByteHalf half;
  const Result<void> read =
      reader.read(folder, false, [&](const LeafUser& user, std::uint32_t number) {
        half.users.insert(half.users.end(), user.samples(), number);
        return append(user, half);
      });
  if (!read) return read.error();
  return half;
}

}  // namespace

Result<void> LeafReader::read(const fs::path& folder, bool may_be_empty, const Visit& visit) {
  constexpr std::array<std::string_view, 1> kJson = {".json"};
  const Result<std::vector<fs::path>> files = files_in(folder, kJson);
  if (!files) return files.error();
  if (files->empty() && !may_be_empty)
    return Error{"empty", fmt::format("{}: there are no .json files", folder.string())};
  std::size_t samples = 0;
  const LeafSink sink = [&](const LeafUser& user) -> Result<void> {
    const auto next = static_cast<std::uint32_t>(numbers_.size());
    samples += user.samples();
    return visit(user, numbers_.try_emplace(user.name, next).first->second);
  };
  for (const fs::path& file : *files) {
    const Result<Bytes> json = read_file(file);
    if (!json) return json.error();
    const Result<void> parsed = parse_leaf(*json, sink);
    if (!parsed && !(may_be_empty && parsed.error().kind == "empty"))
      return in_file(file, parsed.error());
  }
  if (samples == 0 && !may_be_empty)
    return Error{"empty", fmt::format("{}: its files hold no samples", folder.string())};
  return {};
}

Result<LeafHalves> read_leaf(const fs::path& dir, const LeafAppend& append) {
  constexpr std::string_view kRemedy =
      "dir= names a LEAF folder with train/ and test/; scripts/get_data.sh says how to get one";
  for (const char* half : {"train", "test"})
    if (const Result<void> there = require_folder(dir / half, kRemedy); !there)
      return there.error();
  LeafReader reader;
  Result<ByteHalf> train = read_half(dir / "train", append, reader);
  if (!train) return train.error();
  Result<ByteHalf> test = read_half(dir / "test", append, reader);
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
