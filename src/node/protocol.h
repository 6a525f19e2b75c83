// When a node speaks, and to whom: the second of the three questions. A Protocol knows rounds, ages
// and arrivals; it does not know coordinates, codecs or sockets. It has five hooks and uses the
// verbs of Node: train, pack, send, merge, wake_after, finish. A hook runs to completion; nothing
// else happens to the node meanwhile.
#pragma once

#include <string>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "codec/heading.h"
#include "codec/share.h"

namespace tessera {

class Node;

class Protocol {
 public:
  virtual ~Protocol() = default;
  // The first event; also after a crash, with the state of a checkpoint loaded or none. Training
  // that was under way then is lost, and so may be any message.
  virtual void on_start(Node& node) = 0;
  virtual void on_trained(Node& node) = 0;
  // The share is decoded and admitted: it is for this model. What the heading says is the sender's
  // word: whether it may speak now is for the protocol to say; what it turns away it reports by
  // Node::refuse.
  virtual void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) = 0;
  // The peer sent a share that was turned away for what is in it: it tells nothing, and no other
  // will come in its place. Here, too, the heading is the sender's word.
  virtual void on_refused(Node&, NodeId /*from*/, const Heading&) {}
  virtual void on_wake(Node&) {}

  // Rounds completed, for observers; asynchronous protocols count trainings.
  virtual Round rounds_done() const = 0;
  // Rounds among them that were passed over without training, to catch up with the others.
  virtual Round rounds_skipped() const { return 0; }
  // What it cannot go on without, "round 12 from nodes 3, 7"; empty where it waits for none.
  virtual std::string waiting_for() const { return {}; }
  // Whether it can send a model that comes in several pieces. Asked once, before all else.
  struct Pieces {
    std::uint32_t count = 1;
    bool all_told = true;  // Every time; otherwise some may be left out.
  };
  virtual bool take_pieces(const Pieces& pieces) { return pieces.count == 1; }

  // What a checkpoint must keep.
  virtual void fields(Archive& archive) = 0;
  // The shares among it, which come from outside when a checkpoint is read: the node has the
  // sharing look at them before they are believed.
  virtual std::vector<const Share*> kept() const { return {}; }
};

}  // namespace tessera
