#include "attack/attack.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "base/table.h"

namespace tessera {
namespace {

std::unique_ptr<Attack> make_none(Options&) {
  return std::make_unique<Attack>();
}

constexpr std::array kAttacks = {
    AttackKind{.name = "sign_flip",
               .usage = "sign_flip",
               .summary = "tells the negative of every value",
               .make = make_sign_flip},
    AttackKind{.name = "ipm",
               .usage = "ipm:epsilon=0.1",
               .summary = "inner-product manipulation: the honest neighbours' mean, times -epsilon",
               .make = make_ipm,
               .omniscient = true},
    AttackKind{.name = "alie",
               .usage = "alie:z=1.5",
               .summary = "a little is enough: the honest neighbours' mean and z deviations more",
               .make = make_alie,
               .omniscient = true},
    AttackKind{.name = "dissensus",
               .usage = "dissensus:epsilon=1.5",
               .summary = "tells each neighbour what keeps it from agreeing with the honest ones",
               .make = make_dissensus,
               .omniscient = true,
               .aims = true},
    AttackKind{.name = "label_flip",
               .usage = "label_flip",
               .summary = "trains in earnest on labels counted from the other end",
               .make = make_none,
               .flips_labels = true},
    AttackKind{.name = "random",
               .usage = "random:sigma=1",
               .summary = "normally distributed values of this deviation",
               .make = make_random_values},
    AttackKind{.name = "nan",
               .usage = "nan",
               .summary = "values that are no numbers, or infinite",
               .make = make_nan},
    AttackKind{.name = "stale",
               .usage = "stale",
               .summary = "repeats its first message for ever",
               .make = make_none,
               .repeats = true},
    AttackKind{.name = "future",
               .usage = "future:ahead=100",
               .summary = "says that its share is of a round so far ahead",
               .make = make_future,
               .moves_rounds = true},
    AttackKind{.name = "degree",
               .usage = "degree",
               .summary = "lies about how many peers it has: none, one, or 2^32 - 1",
               .make = make_degree_lies},
    AttackKind{.name = "age",
               .usage = "age",
               .summary = "lies about the trainings its model has seen: none, or 2^64 - 1",
               .make = make_age_lies},
};

}  // namespace

std::span<const AttackKind> attacks() {
  return kAttacks;
}

ChosenAttack make_attack(std::string_view spec) {
  Options options(parse_spec(spec));
  const AttackKind& kind = require_entry(attacks(), "attack", options.name());
  ChosenAttack chosen{std::string(spec), &kind, kind.make(options)};
  options.done();
  return chosen;
}

void refuse_omniscient(const ChosenAttack& chosen) {
  if (chosen.kind->omniscient)
    throw std::invalid_argument(
        fmt::format("attack={} looks at the honest nodes' models, which only a simulation can show "
                    "it: use tessera sim, or another attack, such as random",
                    chosen.spec));
}

}  // namespace tessera
