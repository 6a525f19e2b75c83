// Shares that came and were not used yet, the newest of each sender and piece. Asynchronous
// protocols fill it as messages arrive and empty it when they average.
#pragma once

#include <cstdint>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "codec/share.h"
#include "sharing/sharing.h"

namespace tessera {

class Pending {
 public:
  struct Origin {
    NodeId from = 0;
    std::uint32_t piece = 0;
    std::uint64_t age = 0;  // Of the sender's model.
  };
  // A share replaces the one of the same sender and piece unless that is of a somewhat later age:
  // messages may overtake one another. Whether it was taken.
  bool put(const Origin& origin, HeardShare share);

  bool empty() const { return shares_.empty(); }
  std::size_t size() const { return shares_.size(); }
  void clear();

  struct Item {
    NodeId from = 0;
    const Share* share = nullptr;
  };
  // By sender, then by piece: the order of sums, whatever the order of arrival.
  std::vector<Item> in_order() const;
  // The same, all with the weight that makes it a plain mean with the receiver's own.
  std::vector<Contribution> evenly_weighted() const;

  void fields(Archive& archive);
  std::vector<const Share*> shares() const;  // In no particular order.

 private:
  // Keys apart from the shares, so that looking for one walks little memory: there are about as
  // many as messages arrive between two trainings, which is not enough for a table to pay.
  std::vector<std::uint64_t> keys_;  // Sender, then piece.
  std::vector<std::uint64_t> ages_;
  std::vector<HeardShare> shares_;
};

}  // namespace tessera
