// A checkpoint is a file, and files can be damaged: whichever byte is changed, a node refuses the
// state in one line or goes on with it; it never stops the program.
#include <gtest/gtest.h>

#include "protocol/question.h"
#include "protocol/world_for_tests.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

std::vector<OneNodeOptions> every_kind() {
  return {
      {.protocol = "dpsgd:rounds=20,patience=8s"},
      {.protocol = "dpsgd:rounds=20", .sharing = "topk:budget=0.5"},
      {.protocol = "dpsgd:rounds=20", .sharing = "choco"},
      {.nodes = 4, .topology = "full", .protocol = "epidemic:fanout=2,rounds=20"},
      {.nodes = 4,
       .topology = "full",
       .protocol = "divshare:fanout=2",
       .sharing = "fragments:fraction=0.5"},
      {.nodes = 4, .topology = "full", .protocol = "divshare:fanout=2", .sharing = "topk:pieces=2"},
      {.id = 0, .protocol = "adpsgd:patience=1s"},
      {.id = 1, .protocol = "adpsgd"},
      {.nodes = 4, .topology = "full", .protocol = "adpsgd:form=pings,fanout=2"},
      {.protocol = "swift:every=2"},
  };
}

// A while of whatever may happen to a node, from its neighbours' shares to its alarms.
void live_on(OneNode& one, int from, int to) {
  const auto peer = make_sharing(one.plan.experiment.sharing, {.dimension = 2});
  peer->start(Vector{0, 0});
  for (int step = from; step < to; ++step) {
    if (one.node.training()) one.trains_to({1, static_cast<float>(step)});
    for (const NodeId sender : {0u, 2u})
      for (const Share& share : peer->pack(Vector{3, static_cast<float>(step)}, Random(1))) {
        Heading heading{.round = one.node.rounds_done() + sender / 2};
        if (sender == 0) heading.own = kAsks;
        one.hears(sender, heading, share);
      }
    one.waits_until(step * 3s);
  }
}

TEST(Checkpoint, WhateverByteIsChangedTheNodeRefusesOrGoesOn) {
  for (const OneNodeOptions& options : every_kind()) {
    SCOPED_TRACE(options.protocol + " " + options.sharing);
    OneNode one(options);
    one.starts();
    live_on(one, 1, 4);
    Bytes saved;
    save_fields(one.node, saved);
    int refused = 0;
    for (std::size_t place = 0; place < saved.size(); ++place) {
      for (const unsigned change : {0x01u, 0x80u, 0xffu}) {
        Bytes damaged = saved;
        damaged[place] ^= static_cast<std::byte>(change);
        OneNode other(options);
        ByteReader in(damaged);
        if (load_fields(other.node, in).ok())
          live_on(other, 4, 7);
        else
          ++refused;
      }
    }
    EXPECT_GT(refused, 20);
  }
}

TEST(Checkpoint, EveryTruncationIsRefused) {
  for (const OneNodeOptions& options : every_kind()) {
    OneNode one(options);
    one.starts();
    live_on(one, 1, 4);
    Bytes saved;
    save_fields(one.node, saved);
    for (std::size_t length = 0; length < saved.size(); ++length) {
      OneNode other(options);
      ByteReader in(ByteSpan(saved).first(length));
      EXPECT_FALSE(load_fields(other.node, in).ok()) << options.protocol << " " << length;
    }
  }
}

}  // namespace
}  // namespace tessera
