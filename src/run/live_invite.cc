#include "run/live_invite.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/spec.h"
#include "data/partition.h"
#include "live/link/fleet_asker.h"
#include "live/link/keys.h"
#include "live/link/knocks.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr Duration kAnswerWithin = 5s;
constexpr auto kKnockPause = 500ms;
// A member knows invitations that have just been written within a second or two, or five while it
// begins.
constexpr int kUnknownMax = 20;

// One who knocks, and what it has said to whoever waits before the screen.
class Newcomer {
 public:
  explicit Newcomer(const JoinParts& parts)
      : parts_(parts),
        asker_(or_throw<std::invalid_argument>(key_pair_of(parts.invitation.secret_key)),
               std::vector<Member>{{.name = "member",
                                    .address = parts.invitation.address,
                                    .public_key = parts.invitation.member_key}}),
        knock_(encode_knock({parts.keys.public_key, parts.address})) {}

  // Nothing: to be tried again.
  std::optional<Result<LetIn>> knock() {
    const Result<Bytes> frame = asker_.ask(knock_, kAnswerWithin).at(0).frame;
    if (!frame) return not_answered(frame.error().message);
    unknown_ = 0;
    const Result<KnockAnswer> answer = decode_knock_answer(*frame);
    if (!answer) return Result<LetIn>(answer.error());
    return take(*answer);
  }

 private:
  std::optional<Result<LetIn>> not_answered(const std::string& why) {
    const bool stranger = why.starts_with("the handshake failed");
    if (stranger && ++unknown_ == kUnknownMax)
      return Result<LetIn>(
          Error{"unknown", fmt::format("{} does not know this invitation: it has expired, or was "
                                       "withdrawn; ask for a new one",
                                       parts_.invitation.address)});
    say(fmt::format("cannot knock at {} yet: {}", parts_.invitation.address,
                    stranger ? "it does not know this invitation" : why));
    return std::nullopt;
  }

  std::optional<Result<LetIn>> take(const KnockAnswer& answer) {
    const std::string& name = parts_.invitation.name;
    if (answer.standing == KnockStanding::kTaken)
      return Result<LetIn>(
          Error{"taken", fmt::format("another machine has knocked with this invitation before: if "
                                     "it was not you, tell the owner; tessera invite {} makes a "
                                     "new one",
                                     name)});
    if (answer.standing == KnockStanding::kWrong)
      return Result<LetIn>(
          Error{"wrong", fmt::format("{} does not take {} for an address of ours, or is of another "
                                     "version: --address=HOST:PORT says where we are reached",
                                     parts_.invitation.address, parts_.address)});
    if (fingerprint(answer.experiment) != parts_.invitation.experiment)
      return Result<LetIn>(
          Error{"experiment",
                "the experiment is not the one that this invitation is for: it was "
                "changed since, or the member is not to be trusted; ask for a new "
                "token"});
    if (!told_) parts_.on_experiment(answer.experiment), told_ = true;
    if (answer.standing == KnockStanding::kAccepted) return let_in(answer);
    say(answer.standing == KnockStanding::kEarly
            ? fmt::format("{} is accepted; the run begins when all who are awaited are", name)
            : fmt::format("{} has knocked and waits for the owner: tessera accept {}", name, name));
    return std::nullopt;
  }

  Result<LetIn> let_in(const KnockAnswer& answer) {
    Result<Roster> roster = parse_signed_roster(answer.roster, parts_.invitation.owner);
    if (!roster)
      return Error{roster.error().kind,
                   fmt::format("{} told a roster that is not the owner's: {}",
                               parts_.invitation.address, roster.error().message)};
    const Member* const self = roster->find(parts_.invitation.name);
    if (self == nullptr || self->public_key != parts_.keys.public_key)
      return Error{"roster", fmt::format("{} says that {} is accepted, and the roster does not",
                                         parts_.invitation.address, parts_.invitation.name)};
    return LetIn{std::move(*roster), answer.experiment};
  }

  void say(std::string line) {
    if (line == said_) return;
    parts_.say(line);
    said_ = std::move(line);
  }

  const JoinParts& parts_;
  FleetAsker asker_;
  Bytes knock_;
  std::string said_;
  bool told_ = false;
  int unknown_ = 0;
};

}  // namespace

std::string told_experiment(const LiveSettings& settings, const Roster& roster) {
  Experiment lines = settings.lines;
  if (roster.has_owner()) lines.nodes = std::to_string(roster.next_id());
  if (read_partition(lines.partition).kind->own_data) lines.data = parse_spec(lines.data).name;
  std::string text = to_toml(lines);
  if (text.size() > kExperimentTextMax)
    throw std::invalid_argument(
        fmt::format("the experiment has {} bytes, and newcomers can be told {} at most",
                    text.size(), kExperimentTextMax));
  return text;
}

Result<LetIn> knock_until_let_in(const JoinParts& parts) {
  Newcomer newcomer(parts);
  while (!parts.stop()) {
    if (std::optional<Result<LetIn>> end = newcomer.knock()) return std::move(*end);
    std::this_thread::sleep_for(kKnockPause);
  }
  return Error{"stopped", "stopped before it was let in; run it again to go on"};
}

}  // namespace tessera
