// AD-PSGD as DivShare's authors ran it: after every training a node sends its model to a few random
// others, each of whom at once sends back its own as it was after its last training; whatever has
// arrived is averaged after the next training, the newest of each sender, all alike. Nothing is
// ever taken back, so a slow link goes on sending models long out of date.
//
// A peer is answered kPongsMax times per training of our own at most. An honest one pings once per
// training of its own, or a few times where the draws fall on the same peer.
//
// In the released code a queued ping could turn into a pong and a pong into a ping, because both
// looked at one flag. Here they do not.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/ending.h"
#include "protocol/pending.h"

namespace tessera {

inline constexpr std::uint32_t kPongsMax = 16;

struct PingsOptions {
  std::uint32_t nodes = 0;
  std::uint32_t pings = 3;  // Recipients per training, drawn with replacement.
  Ending ending{};
};

class Pings final : public Protocol {
 public:
  explicit Pings(PingsOptions options) : options_(options) {}

  void on_start(Node& node) override;
  void on_trained(Node& node) override;
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override;
  void on_wake(Node& node) override;
  Round rounds_done() const override { return done_; }

  void fields(Archive& archive) override;
  std::vector<const Share*> kept() const override { return pending_.shares(); }

 private:
  PingsOptions options_;
  Round done_ = 0;
  Payload pong_;  // The model after the last training. Before the first there is none to send.
  std::map<NodeId, std::uint32_t> pongs_;  // How many were sent to whom since the last training.
  Pending pending_;
};

}  // namespace tessera
