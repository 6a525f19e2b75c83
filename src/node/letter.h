// An encoded message, which often goes to several peers, and what it says. Those of them that are
// in one process, as in a simulation, read it once: the first to read it decodes it for all.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "codec/wire.h"

namespace tessera {

// A message as its receivers see it. None of them changes it.
struct ReadMessage {
  std::shared_ptr<const Message> message{};
  double norm = 0;  // The Euclidean norm of its values.
  // The share alone, for those who keep it.
  HeardShare share() const { return {message, &message->share}; }
};

class Letter {
 public:
  explicit Letter(Bytes bytes) : bytes_(std::move(bytes)) {}
  explicit operator const Bytes&() const { return bytes_; }
  const Bytes& bytes() const { return bytes_; }

  // Any number of threads may read at once. What was read is kept as long as the letter is.
  const Result<ReadMessage>& read() const;

 private:
  Bytes bytes_;
  mutable std::once_flag once_;
  mutable std::optional<Result<ReadMessage>> read_;
};

}  // namespace tessera
