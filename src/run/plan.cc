#include "run/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "data/own_data.h"
#include "data/partition.h"
#include "run/backends.h"
#include "run/longer.h"

namespace tessera {
namespace {

// A default that depends on another choice: nodes without rounds in common are tested by time.
constexpr const char* kEvaluateByRounds = "every=10";
constexpr const char* kEvaluateByTime = "every=5s";

LessonPlan read_lesson(const Plan& plan) {
  const Experiment& experiment = plan.experiment;
  LessonPlan lesson{.options = {.data = choose(datasets(), "dataset", experiment.data),
                                .partition = read_partition(experiment.partition),
                                .nodes = plan.nodes,
                                .model = parse_spec(experiment.model),
                                .training = parse_training(experiment.training),
                                .device = parse_device(experiment.device),
                                .seed = plan.seed,
                                .backends = backends()}};
  lesson.needs_data = model_kind(lesson.options.model.name, backends()).needs_data;
  lesson.steps =
      lesson.needs_data
          ? static_cast<int>(lesson.options.training.steps)
          : static_cast<int>(Options(lesson.options.model).integer("steps", 1, between(1, 1e6)));
  return lesson;
}

// A rate that falls until the end needs to know where that is. Says how far it falls where the
// line does not: the steps of all rounds.
void complete_schedule(Plan& plan) {
  RateSchedule& schedule = plan.lesson.options.training.schedule;
  if (!schedule.wants_length()) return;
  const Round rounds = plan.protocol.prepared.rounds;
  if (rounds == 0)
    throw std::invalid_argument(fmt::format(
        "training: schedule={} needs length=…, in local steps: nodes of protocol={} stop at a "
        "moment, and how many they will have made is not known before",
        schedule.kind->name, plan.experiment.protocol));
  set_length(schedule, std::uint64_t{rounds} * plan.lesson.options.training.steps);
}

ProtocolPlan read_protocol(const Plan& plan) {
  const Chosen<ProtocolKind> chosen = choose_protocol(plan.experiment.protocol);
  return {.kind = chosen.kind,
          .prepared = prepare_protocol(chosen, {.nodes = plan.nodes,
                                                .topology = plan.topology,
                                                .random = plan.root().fork("protocol")})};
}

EvaluatePlan read_evaluate(const Experiment& experiment, const ProtocolKind& protocol) {
  Options options(parse_spec(fmt::format("evaluate:{}", experiment.evaluate)));
  EvaluatePlan evaluate;
  const std::string every = options.text("every", "10");
  if (every.find_first_not_of("0123456789") == std::string::npos)
    evaluate.rounds = static_cast<Round>(options.integer("every", 10, between(1, 1e9)));
  else if ((evaluate.period = options.duration("every", {})) <= Duration::zero())
    options.refuse("every", "time must pass between two evaluations");
  evaluate.samples = static_cast<std::size_t>(options.integer("samples", 0, between(0, 1e9)));
  evaluate.merged = options.yes("merged", true);
  evaluate.start = options.yes("start", false);
  evaluate.nodes = options.yes("nodes", false);
  options.done();
  if (!evaluate.by_time() && !protocol.synchronous)
    throw std::invalid_argument(fmt::format(
        "evaluate={}: nodes of protocol={} have no rounds in common; say when in virtual time, "
        "such as every=5s",
        experiment.evaluate, experiment.protocol));
  return evaluate;
}

// stragglers=K are the K lowest ids, as in the paper's set-up.
std::vector<NodeId> read_stragglers(const Spec& network, std::uint32_t nodes) {
  const std::int64_t count = Options(network).integer("stragglers", 0, between(0, nodes));
  std::vector<NodeId> slow(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < slow.size(); ++i) slow[i] = static_cast<NodeId>(i);
  return slow;
}

std::unique_ptr<Network> make_network(const Plan& plan, const WorldPlan& world) {
  return make_network(world.network, {.nodes = plan.nodes, .random = plan.root().fork("network")});
}

WorldPlan read_world(const Plan& plan) {
  WorldPlan world{.network = choose(networks(), "network", plan.experiment.network)};
  (void)make_network(plan, world);  // Its row alone knows which options it has.
  world.stragglers = read_stragglers(world.network.spec, plan.nodes);
  world.compute = make_compute(
      plan.experiment.compute,
      {.nodes = plan.nodes, .steps = plan.lesson.steps, .random = plan.root().fork("compute")});
  return world;
}

SharingContext sharing_context(const Plan& plan, std::size_t dimension,
                               std::vector<std::uint32_t> tensors) {
  return {.dimension = static_cast<std::uint32_t>(dimension),
          .tensors = std::move(tensors),
          .seed = plan.seed,
          .lossless_codec = plan.codec.values == nullptr || plan.codec.values->lossless,
          .rounds = plan.protocol.prepared.rounds,
          .rule = plan.rule};
}

bool tells_changes(const Spec& sharing) {
  return Options(sharing).yes("relative", false);
}

void refuse_contradictions(const Plan& plan) {
  if (names_node(plan.lesson.options.data.spec) && !plan.own_data())
    throw std::invalid_argument(
        fmt::format("data={} has a place for each node, and partition={} deals out one set: use "
                    "partition=local",
                    plan.experiment.data, plan.experiment.partition));
  if (plan.rule && plan.rule->compares_peers() && plan.protocol.prepared.one_by_one)
    throw std::invalid_argument(
        plan.protocol.kind->synchronous
            ? fmt::format(
                  "rule={} judges peers by one another, and on topology={} a node hears "
                  "one in a round: use rule=clipped:radius=1, or a topology with more peers",
                  plan.experiment.rule, plan.experiment.topology)
            : fmt::format("rule={} judges peers by one another, and nodes of protocol={} average "
                          "with one at a time: use rule=clipped:radius=1 or form=pings",
                          plan.experiment.rule, plan.experiment.protocol));
  if (plan.merge && !plan.faults.hostile().empty())
    throw std::invalid_argument(fmt::format(
        "merge={} is a plain mean of all models, which one hostile node can lead anywhere: leave "
        "out the merge or the hostile nodes",
        plan.experiment.merge));
  if (plan.merge && plan.merge->period > Duration::zero() && tells_changes(plan.sharing.spec))
    throw std::invalid_argument(fmt::format(
        "sharing={} tells what has changed since all averaged last, and with merge={} some are "
        "still told what changed before: use merge=end, or leave relative=yes out",
        plan.experiment.sharing, plan.experiment.merge));
  if (!plan.sharing.kind->fixed_peers_only) return;
  if (plan.merge && plan.merge->every > 0 && !plan.sharing.kind->resynchronizes)
    throw std::invalid_argument(
        fmt::format("sharing={} keeps copies of its neighbours, which a merge between rounds would "
                    "falsify: use merge=end",
                    plan.experiment.sharing));
  if (plan.topology->redrawn() || !plan.protocol.kind->fixed_peers)
    throw std::invalid_argument(
        fmt::format("sharing={} keeps copies of its neighbours, so they must stay the same: use "
                    "protocol=dpsgd and a topology without redraw=yes",
                    plan.experiment.sharing));
  if (plan.topology->has_weights())
    throw std::invalid_argument(
        fmt::format("sharing={} needs edges that go both ways, and those of topology={} do not: "
                    "use another topology",
                    plan.experiment.sharing, plan.experiment.topology));
  if (!plan.protocol.prepared.waits_for_ever && !plan.sharing.kind->resynchronizes)
    throw std::invalid_argument(
        fmt::format("sharing={} counts on hearing every neighbour in every round, and a patience "
                    "goes on without: leave one of them out",
                    plan.experiment.sharing));
}

// Weights by samples, where something after the protocol would not count them.
void refuse_lost_weights(const Plan& plan, std::uint32_t pieces) {
  if (!plan.protocol.prepared.weighs_samples) return;
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument(fmt::format("protocol={}: {}", plan.experiment.protocol, why));
  };
  if (plan.sharing.kind->own_rule)
    refuse(
        fmt::format("sharing={} averages with weights of its own: use weights=graph or another "
                    "sharing",
                    plan.experiment.sharing));
  if (plan.rule ? !plan.rule->weighs() : pieces > 1)
    refuse(fmt::format("{} counts all peers alike: use rule=gaps or rule=clipped",
                       plan.rule ? "rule=" + plan.experiment.rule
                                 : "sharing=" + plan.experiment.sharing + " cuts pieces, and"));
  if (plan.merge)
    refuse(fmt::format("merge={} is the plain mean of all models: use merge=none",
                       plan.experiment.merge));
}

// Rounds with pieces count their meetings in 32 bits.
void refuse_too_many_meetings(const Plan& plan, std::uint64_t pieces) {
  const Round rounds = plan.protocol.prepared.rounds;
  if (pieces * rounds > std::numeric_limits<Round>::max())
    throw std::invalid_argument(fmt::format(
        "{} rounds of {} pieces are more meetings than can be counted: use fewer", rounds, pieces));
}

}  // namespace

Plan read_live_plan(const Experiment& experiment) {
  Plan plan{.experiment = experiment,
            .nodes = parse_nodes(experiment.nodes),
            .seed = parse_seed(experiment.seed)};
  plan.lesson = read_lesson(plan);
  plan.topology = make_topology(experiment.topology, plan.nodes, plan.root().fork("topology"));
  plan.protocol = read_protocol(plan);
  complete_schedule(plan);
  plan.sharing = choose_sharing(experiment.sharing);
  plan.rule = make_rule(experiment.rule);
  plan.codec = parse_codec(experiment.codec);
  plan.merge = read_merge(plan);
  plan.faults = make_faults(experiment.faults, plan.nodes, plan.fault_random());
  refuse_contradictions(plan);
  const std::uint32_t pieces = make_sharing(plan.sharing, sharing_context(plan, 1, {}))->pieces();
  refuse_too_many_meetings(plan, pieces);
  refuse_lost_weights(plan, pieces);
  if (experiment.evaluate.empty())
    plan.experiment.evaluate =
        plan.protocol.kind->synchronous ? kEvaluateByRounds : kEvaluateByTime;
  plan.evaluate = read_evaluate(plan.experiment, *plan.protocol.kind);
  plan.lesson.options.test_samples = plan.evaluate.samples;
  return plan;
}

Plan read_plan(const Experiment& experiment) {
  Plan plan = read_live_plan(experiment);
  plan.world = read_world(plan);
  if (!plan.faults.hostile().empty() && plan.faults.attack().kind->flips_labels)
    flip_labels(plan, plan.faults.hostile());
  return plan;
}

Plan read_plan_alone(const Experiment& experiment) {
  return read_plan({.nodes = "1",
                    .seed = experiment.seed,
                    .data = experiment.data,
                    .partition = experiment.partition,
                    .model = experiment.model,
                    .training = experiment.training,
                    .topology = "full",
                    .protocol = "dpsgd:rounds=100000000",  // Outlasts any warm-up.
                    .evaluate = experiment.evaluate,
                    .device = experiment.device});
}

std::optional<Round> rounds_planned(const std::filesystem::path& folder) {
  try {
    const Plan plan = read_live_plan(read_experiment(folder / "config.toml"));
    if (plan.protocol.prepared.rounds > 0) return plan.protocol.prepared.rounds;
  } catch (const std::exception&) {  // Another version's, say: nothing is known.
  }
  return std::nullopt;
}

void flip_labels(Plan& plan, std::span<const NodeId> nodes) {
  if (!plan.lesson.needs_data)
    throw std::invalid_argument(fmt::format(
        "attack=label_flip: model={} learns from no data, so there are no labels to flip: use "
        "another attack",
        plan.experiment.model));
  plan.label_flippers.assign(nodes.begin(), nodes.end());
}

void set_training_steps(Plan& plan, std::int64_t steps, std::int64_t in_all) {
  const bool toy = !plan.lesson.needs_data;
  std::string& line = toy ? plan.experiment.model : plan.experiment.training;
  Spec spec = parse_spec(line);
  std::erase_if(spec.options, [](const auto& option) { return option.first == "steps"; });
  spec.options.emplace_back("steps", std::to_string(steps));
  line = to_string(spec);
  plan.lesson = read_lesson(plan);
  plan.lesson.options.test_samples = plan.evaluate.samples;
  if (RateSchedule& schedule = plan.lesson.options.training.schedule; schedule.wants_length())
    set_length(schedule, static_cast<std::uint64_t>(in_all));
}

bool Plan::own_data() const {
  return lesson.options.partition.kind->own_data;
}

std::uint32_t Plan::retold(NodeId node) const {
  if (!protocol.kind->synchronous) return 0;
  std::map<NodeId, std::uint32_t> meetings;  // In a merge, by peer.
  std::uint32_t meetings_max = 0;
  if (merge)
    for (Round step = 0; step < merge->options.topology->cycle_length(); ++step)
      for (const NodeId peer : merge->options.topology->peers(node, step))
        meetings_max = std::max(meetings_max, ++meetings[peer]);
  return 2 + meetings_max;
}

std::uint64_t Plan::run() const {
  Experiment common = experiment;
  if (own_data()) common.data = lesson.options.data.spec.name;  // Where it lies is a node's affair.
  // A simulation may go on otherwise (run/longer.h), and what was on its way is still of the run.
  const std::string text = world ? toml_of_same_run(common) : to_toml(common);
  return hash_bytes(bytes_of(text), roster_run);
}

std::unique_ptr<Node> make_node(const Plan& plan, NodeId id, Vector model,
                                std::vector<std::uint32_t> tensors, std::uint32_t samples) {
  std::optional<MergeParts> merge = make_merge(plan, id, model.size());
  const SharingContext context = sharing_context(plan, model.size(), std::move(tensors));
  return std::make_unique<Node>(NodeParts{.id = id,
                                          .run = plan.run(),
                                          .model = std::move(model),
                                          .sharing = make_sharing(plan.sharing, context),
                                          .protocol = plan.protocol.prepared.make(id),
                                          .codec = plan.codec,
                                          .random = plan.root().fork("node", id),
                                          .merge = std::move(merge),
                                          .samples = samples});
}

std::unique_ptr<Network> make_network(const Plan& plan) {
  CHECK(plan.world.has_value());
  return make_network(plan, *plan.world);
}

}  // namespace tessera
