// DivShare (Biswas et al., WWW 2025): after every training a node sends each piece of its model to
// a few random others, averages what reached it meanwhile, and trains again at once. It waits for
// no peer; a slow link only means that fewer pieces of a round leave before the next round's
// replace them. SWIFT as DivShare's authors ran it is the same with the model in one piece and a
// queue that is never cleared.
//
// In the published form a node sends its trained model and then averages with what arrived before,
// so what nodes in step tell each other is a round old when it counts. `lag` false averages at the
// end of the instant instead, with all that has arrived by then.
#pragma once

#include <cstdint>
#include <vector>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/ending.h"
#include "protocol/pending.h"

namespace tessera {

struct ScatterOptions {
  std::uint32_t nodes = 0;
  std::uint32_t fanout = 6;  // Recipients of each piece.
  bool clear = true;         // Whether what has not left is dropped when there is something newer.
  bool lag = true;
  Ending ending{};
};

class Scatter final : public Protocol {
 public:
  explicit Scatter(ScatterOptions options) : options_(options) {}

  void on_start(Node& node) override;
  void on_trained(Node& node) override;
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override;
  void on_wake(Node& node) override;
  Round rounds_done() const override { return done_; }
  bool take_pieces(const Pieces&) override { return true; }

  void fields(Archive& archive) override { archive(done_, scattered_, pending_); }
  std::vector<const Share*> kept() const override { return pending_.shares(); }

 private:
  void scatter(Node& node);
  void fold_in_and_train(Node& node);

  ScatterOptions options_;
  Round done_ = 0;          // Trainings sent and averaged.
  bool scattered_ = false;  // Sent, and not averaged yet: only within an instant, without lag.
  Pending pending_;
};

}  // namespace tessera
