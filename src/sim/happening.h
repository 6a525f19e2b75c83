// What will happen to a node, besides the messages that the network still has.
#pragma once

#include <cstdint>

#include "base/archive.h"
#include "base/ids.h"
#include "sim/event_queue.h"
#include "sim/network.h"

namespace tessera {

struct Happening {
  enum class Kind : std::uint8_t {
    kStart,    // The node is handed its Started; one that is down comes back first.
    kWake,     // It asked to be woken.
    kTrained,  // Its training has come to an end.
    kLanding,  // A message arrives that the network delivered and a fault held back.
    kCrash,
    kSnapshot,  // Its state is put aside, for when it crashes.
  };
  NodeId node = 0;
  std::uint32_t life = 0;  // Which of the node's lives it belongs to; a message belongs to none.
  Kind kind = Kind::kStart;
  MessageId message = 0;  // Of a landing.

  void fields(Archive& archive) {
    archive(node, life, kind, message);
    archive.require(kind <= Kind::kSnapshot, "it holds an event of a kind that does not exist");
  }
};

using Agenda = EventQueue<Happening>;

}  // namespace tessera
