#include "run/merge_plan.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <stdexcept>

#include "base/hash.h"
#include "base/table.h"
#include "run/plan.h"

namespace tessera {
namespace {

constexpr std::array kMerges = {
    MergeKind{.name = "end",
              .usage = "end:peers=1,codec=gamma+planes,patience=none",
              .summary = "once, when the protocol has come to its end"},
    MergeKind{.name = "every",
              .usage = "every:rounds=100,peers=1,codec=gamma+planes,last=gamma+f32,patience=none",
              .summary = "after every so many rounds of a synchronous protocol, or every so often "
                         "(time=60s) of an asynchronous one; and at the end, with a codec of its "
                         "own where last= names one"},
};

// Nodes of asynchronous protocols go on without a peer that does not come to the merge.
constexpr Duration kAsynchronousPatience = std::chrono::seconds(60);

Duration read_patience(Options& options, const ProtocolPlan& protocol) {
  if (!options.has("patience"))
    return protocol.kind->synchronous ? protocol.prepared.patience : kAsynchronousPatience;
  if (options.text("patience") == "none") return Duration::zero();
  const Duration patience = options.duration("patience", {});
  if (patience <= Duration::zero()) options.refuse("patience", "must be above 0, or none");
  return patience;
}

Duration read_period(Options& options) {
  const Duration period = options.duration("time", {});
  if (period <= Duration::zero()) options.refuse("time", "must be above 0");
  return period;
}

void refuse_last_codec(const Spec& spec) {
  for (const auto& [option, value] : spec.options)
    if (option == "last")
      throw std::invalid_argument(fmt::format(
          "merge={}: there is one merge, and it is the last: name its codec by codec={}",
          to_string(spec), value));
}

// Those by time before the end, where that is a moment.
Round merges_before_end(const MergePlan& merge, const PreparedProtocol& protocol) {
  if (merge.period == Duration::zero() || protocol.until == kNever || protocol.rounds > 0) return 0;
  return static_cast<Round>((protocol.until.time_since_epoch() - Duration(1)) / merge.period);
}

// Of all steps together.
Duration patience_of(const MergingOptions& merging) {
  const Round steps = merging.topology->cycle_length();
  return merging.patience < Duration::max() / steps ? merging.patience * steps : Duration::zero();
}

}  // namespace

std::span<const MergeKind> merges() {
  return kMerges;
}

std::optional<MergePlan> read_merge(const Plan& plan) {
  const std::string& line = plan.experiment.merge;
  if (line.empty() || line == "none") return std::nullopt;
  if (plan.nodes == 1)
    throw std::invalid_argument(fmt::format(
        "merge={}: one node has nobody to average with: leave merge out, or say nodes=2", line));
  const Spec spec = parse_spec(line);
  Options options(spec);
  MergePlan merge;
  const bool often = require_entry(merges(), "merge", options.name()).name == "every";
  if (often) {
    const bool by_time = options.has("time");
    if (by_time && plan.protocol.kind->synchronous)
      throw std::invalid_argument(fmt::format(
          "merge={}: nodes of protocol={} wait for one another in rounds, and one would "
          "merge while another waits for it: use merge=every:rounds=100",
          line, plan.experiment.protocol));
    if (!by_time && !plan.protocol.kind->synchronous)
      throw std::invalid_argument(
          fmt::format("merge={}: nodes of protocol={} have no rounds in common: use "
                      "merge=every:time=60s or merge=end",
                      line, plan.experiment.protocol));
    if (by_time)
      merge.period = read_period(options);
    else
      merge.every = static_cast<Round>(options.integer("rounds", 100, between(1, 1e9)));
  } else {
    refuse_last_codec(spec);
  }
  merge.options.patience = read_patience(options, plan.protocol);
  merge.codec = parse_codec(options.text("codec", "gamma+planes"));
  merge.last_codec =
      often ? parse_codec(options.text("last", to_string(merge.codec))) : merge.codec;
  const std::int64_t peers = options.integer("peers", 1, between(1, 1e9));
  options.done();
  merge.options.topology =
      make_topology(fmt::format("base:peers={}", peers), plan.nodes, plan.root().fork("merge"));
  return merge;
}

std::optional<MergeParts> make_merge(const Plan& plan, NodeId id, std::size_t dimension) {
  if (!plan.merge) return std::nullopt;
  const SharingContext whole{.dimension = static_cast<std::uint32_t>(dimension), .seed = plan.seed};
  const MergingOptions& merging = plan.merge->options;
  return MergeParts{.voice = {.run = hash_bytes(bytes_of("merge"), plan.run()),
                              .sharing = make_sharing("full", whole),
                              .protocol = std::make_unique<Merging>(id, merging),
                              .codec = plan.merge->codec},
                    .every = plan.merge->every,
                    .period = plan.merge->period,
                    .times = merges_before_end(*plan.merge, plan.protocol.prepared),
                    .lasts_max = patience_of(merging),
                    .last_codec = plan.merge->last_codec};
}

}  // namespace tessera
