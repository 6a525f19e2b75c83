#include "protocol/pending.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera {
namespace {

// By how many trainings a message may be overtaken. One that is older still was not overtaken: its
// sender lost its model and began anew.
constexpr std::uint64_t kOvertakenMost = 16;

}  // namespace

bool Pending::put(const Origin& origin, HeardShare share) {
  const std::uint64_t key = std::uint64_t{origin.from} << 32 | origin.piece;
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found == keys_.end()) {
    keys_.push_back(key);
    ages_.push_back(origin.age);
    shares_.push_back(std::move(share));
    return true;
  }
  const auto place = static_cast<std::size_t>(found - keys_.begin());
  const std::uint64_t held = ages_[place];
  if (origin.age < held && held - origin.age <= kOvertakenMost) return false;
  ages_[place] = origin.age;
  shares_[place] = std::move(share);
  return true;
}

void Pending::clear() {
  keys_.clear();
  ages_.clear();
  shares_.clear();
}

std::vector<Pending::Item> Pending::in_order() const {
  using Keyed = std::pair<std::uint64_t, const Share*>;
  std::vector<Keyed> sorted(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) sorted[i] = {keys_[i], shares_[i].get()};
  std::ranges::sort(sorted, {}, &Keyed::first);
  std::vector<Item> items;
  items.reserve(sorted.size());
  for (const auto& [key, share] : sorted) items.push_back({static_cast<NodeId>(key >> 32), share});
  return items;
}

std::vector<Contribution> Pending::evenly_weighted() const {
  const float weight = 1.0f / static_cast<float>(size() + 1);
  std::vector<Contribution> others;
  others.reserve(size());
  for (const Item& item : in_order()) others.push_back({weight, item.share, item.from});
  return others;
}

void Pending::fields(Archive& archive) {
  archive(keys_, ages_, shares_);
  if (!archive.loading()) return;
  std::vector<std::uint64_t> sorted = keys_;
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  const bool match = ages_.size() == keys_.size() && shares_.size() == keys_.size();
  archive.require(match && distinct, "saved shares and their senders do not match");
  if (!archive.ok()) clear();
}

std::vector<const Share*> Pending::shares() const {
  std::vector<const Share*> all;
  for (const HeardShare& share : shares_) all.push_back(share.get());
  return all;
}

}  // namespace tessera
