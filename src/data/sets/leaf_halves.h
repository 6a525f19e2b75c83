// From LEAF's folders of files to the two halves of a set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "data/formats/leaf.h"
#include "data/stores.h"

namespace tessera {

// Reads the .json files of folders in the order of their names and numbers the users, in the order
// they are met.
class LeafReader {
 public:
  using Visit = std::function<Result<void>(const LeafUser& user, std::uint32_t number)>;
  // An Error of kind "empty" where there are no samples, unless there may be none.
  Result<void> read(const std::filesystem::path& folder, bool may_be_empty, const Visit& visit);

 private:
  std::map<std::string, std::uint32_t> numbers_{};
};

// Reads DIR/train/*.json and DIR/test/*.json and lets `append` put each user's samples into a half;
// whose they are is added here.
struct LeafHalves {
  ByteHalf train{};
  ByteHalf test{};
};
using LeafAppend = std::function<Result<void>(const LeafUser& user, ByteHalf& half)>;
Result<LeafHalves> read_leaf(const std::filesystem::path& dir, const LeafAppend& append);

// For `append`: sample `i` of a user as people find it, "user 'w1', sample 3".
std::string leaf_place(const LeafUser& user, std::size_t i);

// Checks that labels are numbers and classes below `classes`, and adds them to the half.
Result<void> append_labels(const LeafUser& user, std::uint32_t classes, ByteHalf& half);

}  // namespace tessera
