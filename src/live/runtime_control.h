// What live processes tell each other besides shares: a newcomer asks for a model, who has finished
// says so, and members hand on the roster. Told apart from shares by its first four bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"

namespace tessera {

// "I have completed so many rounds and begin without a checkpoint: am I far behind?"
struct ModelRequest {
  std::uint64_t nonce = 0;  // Tells the answer from one that was not asked for.
  Round rounds = 0;
};
// "Then take mine." An empty model: "No, begin where you are."
struct ModelOffer {
  std::uint64_t nonce = 0;  // Of the request.
  Round rounds = 0;
  Vector model{};
};
// "I have completed my last round." Its sender stays for a while, to answer requests.
struct Finished {};
// "This is the life I am in", to whom it meets (acquaintances.h).
struct Begun {
  std::uint64_t birth = 0;
};

// "This is the version of the roster that I hold" (membership.h).
struct RosterHeld {
  std::uint64_t version = 0;
};
// "Tell me yours."
struct RosterAsked {};
struct RosterTold {
  std::string text{};  // Of Roster::kBytesMax at most.
};

// "These have come to the run, and these have finished, as far as I know" (census.h).
struct CensusTold {
  bool begun = false;                       // Somebody trains already.
  std::vector<NodeId> there{}, finished{};  // Ascending.
};

using Control = std::variant<ModelRequest, ModelOffer, Finished, Begun, RosterHeld, RosterAsked,
                             RosterTold, CensusTold>;

bool is_control(ByteSpan message);
std::shared_ptr<const Bytes> encode_control(const Control& control);
// Refuses with "control": cut short, too long, of an unknown kind, or a model of another length. A
// roster is not looked into.
Result<Control> decode_control(ByteSpan message, std::size_t dimension);

}  // namespace tessera
