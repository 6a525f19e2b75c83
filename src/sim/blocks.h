// Who holds which nodes of a simulation, and how the ranks that hold them tell each other what the
// nodes do. Node ids are cut into blocks, one per rank. Where there is one rank only, it holds them
// all and nothing is told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "sim/effects.h"
#include "sim/node_progress.h"
#include "sim/ranks.h"

namespace tessera {

class Blocks final : public Holders {
 public:
  // `ranks`, where there are several, must outlive it.
  Blocks(Ranks* ranks, std::uint32_t nodes);

  bool alone() const { return !ranks_; }
  bool writes() const { return alone() || ranks_->mine() == 0; }
  std::uint32_t holder(NodeId node) const;  // Its rank.
  bool hold(NodeId node) const override { return alone() || holder(node) == ranks_->mine(); }

  // All that follows is done by all ranks together.
  Bytes bring(NodeId node, Bytes state) override;      // To the one that writes.
  Bytes hear(NodeId node, ByteSpan state) const;       // From the node's holder, to all.
  std::vector<Bytes> gather(ByteSpan told) const;      // What each told, by rank.
  std::string first_of(const std::string& why) const;  // The lowest rank's that is not empty.

  // Fills in what nodes held elsewhere did: effects[i] and standings[touched[i]].
  void tell(std::span<const NodeId> touched, std::span<Effects> effects,
            std::vector<Standing>& standings);
  // The standings of all nodes, where those that are held here are filled in.
  void tell(std::vector<Standing>& standings) const;

  // Something that all ranks should do at the same instant, as bits. Heard are those that any rank
  // had wished when nodes last told what they did.
  void wish(std::uint8_t wishes) { (alone() ? heard_ : wished_) = wishes; }
  std::uint8_t heard() const { return heard_; }

 private:
  std::uint64_t bytes_between_ranks(NodeId from, const Effects& effects) const;
  void carry_messages(std::span<const NodeId> touched, std::span<Effects> effects);
  void carry_some(std::span<const NodeId> touched, std::span<Effects> effects) const;
  void pack_messages(Effects& effects, std::vector<Bytes>& told) const;
  void unpack_messages(Effects& effects, ByteReader& in) const;

  Ranks* ranks_;
  std::uint32_t nodes_;
  std::uint8_t wished_ = 0, heard_ = 0;
};

}  // namespace tessera
