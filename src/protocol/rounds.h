// Synchronous rounds, as D-PSGD has them (Lian et al., 2017): train, tell all peers, wait for all
// of theirs, average, repeat. Waits for neighbours only, so two nodes far apart in the graph may be
// several rounds apart in time. Epidemic Learning (de Vos et al., 2023) differs in whom a node
// meets and in the weights.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/meetings.h"

namespace tessera {

enum class Weights {
  kMetropolisHastings,  // 1 / (max(own degree, sender's degree) + 1): doubly stochastic on any
                        // graph.
  kUniform,             // 1 / (messages heard + 1).
};

struct RoundsOptions {
  Round rounds = 0;
  Weights weights = Weights::kMetropolisHastings;
};

class Rounds final : public Protocol {
 public:
  Rounds(std::shared_ptr<const Meetings> meetings, RoundsOptions options)
      : meetings_(std::move(meetings)), options_(options) {}

  void on_start(Node& node) override;
  void on_trained(Node& node) override;
  void on_share(Node& node, NodeId from, Share share) override;
  Round rounds_done() const override { return round_; }

  void save(Bytes& out) const override;
  Result<void> load(ByteReader& in) override;

 private:
  void finish_round_if_all_heard(Node& node);

  std::shared_ptr<const Meetings> meetings_;
  RoundsOptions options_;
  Round round_ = 0;    // The one under way; as many are done.
  bool told_ = false;  // Trained and sent this round.
  // By round, then by sender: sums run in the order of senders, not of arrival.
  std::map<Round, std::map<NodeId, Share>> heard_;
};

}  // namespace tessera
