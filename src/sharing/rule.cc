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
    RuleKind{.name = "clipped",
             .usage = "clipped:radius=auto,hostile=1",
             .summary = "ClippedGossip: weighted mean, with each peer's pull no longer than the "
                        "radius; auto: the farthest peer's but for so many hostile ones",
             .make = make_clipped_rule},
    RuleKind{.name = "geometric",
             .usage = "geometric:iterations=8,smooth=0.1",
             .summary = "geometric median of the copies, own included, by smoothed Weiszfeld steps",
             .make = make_geometric_rule},
    RuleKind{.name = "krum",
             .usage = "krum:hostile=1",
             .summary = "the copy that is nearest to all but so many others, own included",
             .make = make_krum_rule},
    RuleKind{.name = "multikrum",
             .usage = "multikrum:hostile=1",
             .summary = "mean of all but so many copies, the nearest to the others",
             .make = make_multikrum_rule},
    RuleKind{.name = "nnm",
             .usage = "nnm:hostile=1,then=trimmed",
             .summary = "each copy becomes the mean of all but so many nearest to it; then another "
                        "rule",
             .make = make_nnm_rule},
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
