#include "sharing/rule.h"

#include <array>

#include "base/table.h"

namespace tessera {
namespace {

constexpr std::array kRules = {
    RuleKind{.name = "gaps",
             .usage = "gaps",
             .summary = "weighted mean; a coordinate a peer did not tell counts as the receiver's",
             .make = make_gaps_rule},
    RuleKind{.name = "present",
             .usage = "present",
             .summary = "plain mean of the copies present, own included: fragments' rule",
             .make = make_present_rule},
    RuleKind{.name = "median",
             .usage = "median",
             .summary = "median of the copies present, own included: one liar moves it little",
             .make = make_median_rule},
    RuleKind{.name = "trimmed",
             .usage = "trimmed:drop=1",
             .summary = "mean of the copies present without the largest and smallest of them",
             .make = make_trimmed_rule},
};

OpenTable<RuleKind>& table() {
  static OpenTable<RuleKind> rows("rule", kRules);
  return rows;
}

}  // namespace

std::span<const RuleKind> rules() {
  return table().rows();
}

void register_rule(const RuleKind& kind) {
  table().add(kind);
}

std::shared_ptr<const Rule> make_rule(std::string_view spec) {
  if (spec == "auto") return nullptr;
  Options options(parse_spec(spec));
  std::shared_ptr<const Rule> rule = require_entry(rules(), "rule", options.name()).make(options);
  options.done();
  return rule;
}

}  // namespace tessera
