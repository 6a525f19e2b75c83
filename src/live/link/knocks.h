// Who was invited knocks, over a connection whose key is the invitation's: it says which key it
// will have as a member and where it is reached, and hears how that stands. Each is one frame:
//
//   knock   "TSSK", the version (2), the newcomer's public key (40), its address (255 at most)
//   answer  "TSSW", the version (2), how it stands (1), a length (4) and the experiment's text, the
//           roster's text
//
// A guest may say nothing else. Its knocks are answered five times a second at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "live/link/questions.h"

namespace tessera {

inline constexpr std::uint16_t kKnockVersion = 1;
inline constexpr std::size_t kExperimentTextMax = 64 << 10;
inline constexpr std::size_t kRosterTextMax = 512 << 10;

struct Knock {
  std::string public_key{};  // The newcomer's own, of which the roster is to know.
  std::string address{};
  bool operator==(const Knock&) const = default;
};

enum class KnockStanding : std::uint8_t {
  kWaiting,   // For the owner.
  kEarly,     // The roster has it, and more are to come before all begin.
  kAccepted,  // The roster has it.
  kTaken,     // Another key has knocked with this invitation before.
  kWrong,     // It is no key or address that a member could have.
};
struct KnockAnswer {
  KnockStanding standing = KnockStanding::kWaiting;
  std::string experiment{};
  std::string roster{};  // For one who is accepted.
  bool operator==(const KnockAnswer&) const = default;
};

Bytes encode_knock(const Knock& knock);
bool is_knock(ByteSpan frame);  // Of any version, and not too long for one.
// Errors: "knock". What key and address say is not looked at.
Result<Knock> decode_knock(ByteSpan frame);

Bytes encode_knock_answer(const KnockAnswer& answer);
// Errors: "kind" for what is no answer, "version" for one of another version.
Result<KnockAnswer> decode_knock_answer(ByteSpan frame);

// For the transport, as Questions: take() and answer() on its thread, the first with its lock and
// the second without.
class Knocks {
 public:
  // `guest` is the invitation's public key.
  using Reply = std::function<KnockAnswer(std::string_view guest, ByteSpan knock)>;
  void answer_with(Reply reply);
  // False: the guest knocks too often.
  bool take(Instant now, std::string_view guest, std::string_view route, ByteSpan frame);
  std::vector<Questions::Answer> answer();

 private:
  struct Waiting {
    std::string guest{}, route{};
    Bytes frame{};
  };
  std::map<std::string, Instant, std::less<>> paid_until_;  // Of those who knocked just now.
  std::vector<Waiting> waiting_;
  std::mutex mutex_;
  Reply reply_;
};

}  // namespace tessera
