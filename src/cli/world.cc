#include "cli/world.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "base/hash.h"
#include "base/table.h"
#include "cli/backends.h"

namespace tessera {
namespace {

// The part of the seed's tree that belongs to the run, not to a node.
Random root_of(const Experiment& experiment) {
  return Random(experiment.seed_number());
}

void refuse_contradictions(const Experiment& experiment, const Topology& topology) {
  if (sharing_kind(experiment.sharing).fixed_peers_only &&
      (topology.redrawn() || !protocol_kind(experiment.protocol).fixed_peers))
    throw std::invalid_argument(
        fmt::format("sharing={} keeps copies of its neighbours, so they must stay the same: use "
                    "protocol=dpsgd and a "
                    "topology without redraw=yes",
                    experiment.sharing));
  if (sharing_kind(experiment.sharing).fixed_peers_only &&
      Options(parse_spec(experiment.protocol)).has("patience"))
    throw std::invalid_argument(
        fmt::format("sharing={} counts on hearing every neighbour in every round, and a patience "
                    "goes on without: leave one of them out",
                    experiment.sharing));
}

// Local steps of one training: compute= may tell time by the step.
int steps_of(const Experiment& experiment) {
  Options options(parse_spec(is_toy(experiment) ? experiment.model : experiment.training));
  return static_cast<int>(options.integer("steps", 1, between(1, 1e9)));
}

}  // namespace

bool is_toy(const Experiment& experiment) {
  return !model_kind(parse_spec(experiment.model).name, backends()).needs_data;
}

EvaluateOptions parse_evaluate(const Experiment& experiment) {
  Options options(parse_spec(fmt::format("evaluate:{}", experiment.evaluate)));
  EvaluateOptions evaluate;
  const std::string every = options.text("every", "10");
  if (every.find_first_not_of("0123456789") == std::string::npos)
    evaluate.rounds = static_cast<Round>(options.integer("every", 10, between(1, 1e9)));
  else if ((evaluate.period = options.duration("every", {})) <= Duration::zero())
    options.refuse("every", "time must pass between two evaluations");
  evaluate.samples = static_cast<std::size_t>(options.integer("samples", 0, between(0, 1e9)));
  options.done();
  if (evaluate.period == Duration::zero() && !protocol_kind(experiment.protocol).synchronous)
    throw std::invalid_argument(fmt::format(
        "evaluate={}: nodes of protocol={} have no rounds in common; say when in virtual time, "
        "such as every=5s",
        experiment.evaluate, experiment.protocol));
  return evaluate;
}

LearningOptions learning_options(const Experiment& experiment) {
  return {.data = experiment.data,
          .partition = experiment.partition,
          .nodes = experiment.node_count(),
          .model = parse_spec(experiment.model),
          .seed = experiment.seed_number(),
          .backends = backends()};
}

Learning make_lesson(const Experiment& experiment, unsigned threads) {
  LearningOptions options = learning_options(experiment);
  options.threads = threads;
  if (!is_toy(experiment)) {
    options.training = parse_training(experiment.training);
    options.device = parse_device(experiment.device);
    options.test_samples = parse_evaluate(experiment).samples;
  }
  return make_learning(options);
}

std::shared_ptr<const Topology> make_topology(const Experiment& experiment) {
  return make_topology(experiment.topology, experiment.node_count(),
                       root_of(experiment).fork("topology"));
}

NodeRecipe::NodeRecipe(const Experiment& experiment)
    : run(hash_bytes(bytes_of(to_toml(experiment)))),
      topology(make_topology(experiment)),
      sharing_(experiment.sharing),
      rule_(make_rule(experiment.rule)),
      seed_(experiment.seed_number()),
      codec_(parse_codec(experiment.codec)) {
  refuse_contradictions(experiment, *topology);
  PreparedProtocol prepared =
      prepare_protocol(experiment.protocol, {.nodes = experiment.node_count(),
                                             .topology = topology,
                                             .random = root_of(experiment).fork("protocol")});
  make_protocol_ = std::move(prepared.make);
  rounds = prepared.rounds;
  until = prepared.until;
  (void)make_sharing(sharing_, sharing_context(1, {}));
}

SharingContext NodeRecipe::sharing_context(std::size_t dimension,
                                           std::vector<std::uint32_t> tensors) const {
  return {.dimension = static_cast<std::uint32_t>(dimension),
          .tensors = std::move(tensors),
          .seed = seed_,
          .lossless_codec = codec_.values == nullptr || codec_.values->lossless,
          .rule = rule_};
}

std::unique_ptr<Node> NodeRecipe::make(NodeId id, Vector model,
                                       std::vector<std::uint32_t> tensors) const {
  const SharingContext context = sharing_context(model.size(), std::move(tensors));
  return std::make_unique<Node>(NodeParts{.id = id,
                                          .run = run,
                                          .model = std::move(model),
                                          .sharing = make_sharing(sharing_, context),
                                          .protocol = make_protocol_(id),
                                          .codec = codec_,
                                          .random = Random(seed_).fork("node", id)});
}

World make_world(const Experiment& experiment, unsigned threads) {
  World world;
  const std::uint32_t nodes = experiment.node_count();
  const Random root = root_of(experiment);
  // Lines are read before data is loaded: a slip in a flag is answered at once.
  const NodeRecipe recipe(experiment);
  world.evaluate = parse_evaluate(experiment);
  SimulationParts parts{.nodes = nodes, .threads = threads};
  parts.network =
      make_network(experiment.network, {.nodes = nodes, .random = root.fork("network")});
  parts.compute =
      make_compute(experiment.compute,
                   {.nodes = nodes, .steps = steps_of(experiment), .random = root.fork("compute")});
  parts.faults = make_faults(experiment.faults, nodes, root.fork("faults"));
  world.stragglers = stragglers_of(experiment.network, nodes);
  world.topology = recipe.topology;
  world.rounds = recipe.rounds;
  world.until = recipe.until;

  world.lesson = make_lesson(experiment, threads);
  world.time = std::make_unique<LessonTime>();
  measure(world.lesson, *world.time);
  parts.trainer = world.lesson.trainer.get();
  parts.make_node = [recipe, initial = parts.trainer->initial_model(),
                     tensors = parts.trainer->tensors()](NodeId id) {
    return recipe.make(id, initial, tensors);
  };
  world.simulation = std::make_unique<Simulation>(std::move(parts));
  return world;
}

}  // namespace tessera
