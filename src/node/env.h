// The world as one node sees it: what can happen to it, and what it can do. Four events, five
// effects, none of which blocks. The simulator and the live runtime both drive nodes through this
// header, and a node cannot tell which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>

#include "base/archive.h"
#include "base/bytes.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"
#include "node/letter.h"

namespace tessera {

// What is sent to one peer.
struct Payload {
  std::shared_ptr<const Letter> letter{};
  std::size_t value_bytes = 0;  // The rest is metadata. Only the accounting looks at it.
  std::size_t elsewhere = 0;    // Its length, where the letter lies in another process.
  std::size_t size() const { return letter ? letter->bytes().size() : elsewhere; }
  // Keeps the letter, too.
  std::shared_ptr<const Bytes> bytes() const {
    return letter ? std::shared_ptr<const Bytes>(letter, &letter->bytes()) : nullptr;
  }
  void fields(Archive& archive) {
    archive.shared(letter);
    archive(value_bytes);
    archive.require(value_bytes <= (letter ? size() : 0), "a saved message miscounts itself");
  }
};

struct Started {};
struct Arrived {
  NodeId from = 0;
  Payload payload{};
};
struct Woke {};
struct Trained {
  Vector model{};  // What became of the model handed to Env::train.
  float loss = 0;
};
using Event = std::variant<Started, Arrived, Woke, Trained>;

class Env {
 public:
  virtual ~Env() = default;
  virtual Instant now() const = 0;
  virtual void send(NodeId to,
                    Payload payload) = 0;  // Best effort; comes back elsewhere as Arrived.
  // Forgets every message of this node that has not begun to leave it. What becomes of one that is
  // half sent depends on the network: live links finish it, simulated ones do as they are told.
  virtual void drop_unsent() = 0;
  virtual void wake_after(Duration delay) = 0;                 // Comes back as Woke.
  virtual void train(const Vector& model, Random random) = 0;  // Comes back as Trained.
};

}  // namespace tessera
