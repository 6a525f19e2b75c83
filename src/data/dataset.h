// Samples to learn from. A Dataset has two methods, and everything else is a Dataset that wraps
// another: a subset, a shard, a normalized view. Features and targets are plain floats whatever
// they mean (pixels, characters, user and film numbers; a class or a rating): all of them are whole
// numbers below 2^24 or measurements, so nothing is lost, and a batch is one matrix for every task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::size_t size() const = 0;
  // Writes sample `index` into `features` (exactly Task::features() long) and returns its target.
  // Without room for them (an empty span) the features are not looked at.
  virtual float get(std::size_t index, std::span<float> features) const = 0;
  // These samples in memory of their own, so that the rest can go; null where nothing would.
  virtual std::shared_ptr<const Dataset> copy_of(std::span<const std::uint32_t> /*samples*/) const {
    return nullptr;
  }
};

// What a model must know of the data it is built for.
struct Task {
  enum class Kind { kImages, kTokens, kRatings };
  Kind kind = Kind::kImages;
  std::vector<std::uint32_t> shape{};  // {channels, height, width}; {length}; {2}: user and item.
  std::uint32_t classes = 0;           // 0: the target is a number, and the loss is squared.
  std::uint32_t vocabulary = 0;        // Tokens only.
  std::uint32_t users = 0, items = 0;  // Ratings only.

  std::size_t features() const {
    std::size_t count = 1;
    for (const std::uint32_t extent : shape) count *= extent;
    return count;
  }
};

// A dataset as it is loaded: two halves and, where samples belong to people (LEAF, MovieLens),
// whose each one is.
struct LoadedData {
  std::string name{};
  Task task{};
  std::shared_ptr<const Dataset> train{};
  std::shared_ptr<const Dataset> test{};
  std::vector<std::uint32_t> train_users{};  // One per training sample, or empty.
  std::vector<std::uint32_t> test_users{};
  // Whose each sample is where data lies at its nodes (data/own_data.h), or empty.
  std::vector<std::uint32_t> train_nodes{}, test_nodes{};
  bool own_test = false;                   // Then also whether nodes are tested on their own.
  std::vector<std::string> class_names{};  // One per class where the files or the set name them.
  struct {
    std::size_t train = 0, test = 0;
  } loaded{};  // How many samples there were, before keep_own() forgot some.
};

}  // namespace tessera
