#include "sharing/fragment_layout.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "codec/splitmix.h"

namespace tessera {
namespace {

// The coordinates first ... first + length - 1, in the order of their random numbers. Equal numbers
// do not occur: for one seed splitmix64 gives every coordinate another.
Indices shuffled(std::uint64_t seed, std::uint32_t first, std::uint32_t length) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> drawn(length);
  for (std::uint32_t i = 0; i < length; ++i) drawn[i] = {splitmix64(seed, first + i), first + i};
  std::sort(drawn.begin(), drawn.end());
  Indices order(length);
  for (std::uint32_t i = 0; i < length; ++i) order[i] = drawn[i].second;
  return order;
}

}  // namespace

FragmentLayout::FragmentLayout(LayoutKey key) : key_(std::move(key)) {
  CHECK(key_.count > 0);
  std::vector<Indices> fragments(key_.count);
  std::uint32_t first = 0;
  const auto whole = std::vector{key_.dimension};
  for (const std::uint32_t length : key_.tensors.empty() ? whole : key_.tensors) {
    const Indices order = shuffled(key_.seed, first, length);
    const std::uint32_t part = length / key_.count;
    for (std::uint32_t id = 0; id < key_.count; ++id) {
      const auto begin = order.begin() + static_cast<std::ptrdiff_t>(id) * part;
      const auto end = id + 1 < key_.count ? begin + part : order.end();
      fragments[id].insert(fragments[id].end(), begin, end);
    }
    first += length;
  }
  CHECK(first == key_.dimension);
  for (Indices& fragment : fragments) {
    std::sort(fragment.begin(), fragment.end());
    begins_.push_back(indices_.size());
    indices_.insert(indices_.end(), fragment.begin(), fragment.end());
  }
  begins_.push_back(indices_.size());
}

std::shared_ptr<const FragmentLayout> FragmentLayout::shared(const LayoutKey& key) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<const FragmentLayout>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& layout) { return layout.expired(); });
  for (const auto& layout : known)
    if (auto found = layout.lock(); found && found->key() == key) return found;
  auto made = std::make_shared<const FragmentLayout>(key);
  known.push_back(made);
  return made;
}

}  // namespace tessera
