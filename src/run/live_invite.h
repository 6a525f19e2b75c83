// Invitations to a fleet, from both sides: what a member tells newcomers of its experiment, and how
// a newcomer gets from its token to a roster that has it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/key_files.h"
#include "live/invitation.h"
#include "live/roster.h"
#include "run/live_settings.h"

namespace tessera {

// The experiment as newcomers are told it: whole, of as many nodes as the roster has places, and
// without where a machine's own data lies. Throws std::invalid_argument where it is too long.
std::string told_experiment(const LiveSettings& settings, const Roster& roster);

struct JoinParts {
  Invitation invitation{};
  KeyPair keys{};         // The newcomer's own.
  std::string address{};  // Where it will be reached.
  std::function<void(std::string_view line)> say{};
  // Called with the experiment once it is known, while the owner has not decided yet.
  std::function<void(const std::string& experiment)> on_experiment{};
  std::function<bool()> stop{};
};
struct LetIn {
  Roster roster{};
  std::string experiment{};
};
// Knocks until the owner has let this machine in, or stop() says so ("stopped"). Other errors:
// "taken", "wrong" for what the member refuses; "unknown" when it no longer knows the invitation;
// "experiment" and those of parse_signed_roster() for what it tells and must not be believed.
Result<LetIn> knock_until_let_in(const JoinParts& parts);

}  // namespace tessera
