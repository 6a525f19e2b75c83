// What a run measures: a row per evaluated round, and a summary at the end. Means are over nodes,
// taken in the order of their ids; the spread is the smallest and the largest. Hostile nodes are
// not counted, but for the network's figures; of accuracy and loss, neither is one that has no
// samples to be tested on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/result.h"
#include "node/traffic.h"
#include "node/trainer.h"
#include "sim/simulation.h"
#include "topology/graph.h"

namespace tessera {

struct Spread {
  double mean = 0, min = 0, max = 0;
};
Spread spread_of(std::span<const double> values);

// Of the whole network since the row before; see NetworkWatch.
struct NetworkFigures {
  Round rounds_min = 0, rounds_max = 0;  // Local rounds of the slowest and the fastest node.
  double delivered_fraction = 0;         // Messages given to their receivers / messages offered.
  double staleness = 0,
         staleness_max = 0;               // Trainings a sender had made since; by message, by node.
  double delay_seconds = 0;               // From sending to arrival, mean over messages.
  double queue = 0, queue_max = 0;        // Messages that have not wholly left a node.
  double link_use = 0, link_use_max = 0;  // Fraction of the up-link's capacity.

  void fields(Archive& archive) {
    archive(rounds_min, rounds_max, delivered_fraction, staleness, staleness_max, delay_seconds,
            queue, queue_max, link_use, link_use_max);
  }
};

// The same of one node.
struct NodeFigures {
  Round rounds = 0;
  double bytes = 0, staleness = 0, queue = 0, link_use = 0;

  void fields(Archive& archive) { archive(rounds, bytes, staleness, queue, link_use); }
};

// The mean of the models of all nodes that are up, and how far apart they are.
struct MergedFigures {
  Score score{};
  double distance = 0;           // Root mean square over nodes of the distance from the mean.
  double relative_distance = 0;  // To the mean's norm; 0 where that is.

  void fields(Archive& archive) {
    archive(score.accuracy, score.loss, distance, relative_distance);
  }
};

// What one node has to say when a row is made.
struct NodeRow {
  Round round = 0;
  double seconds = 0;  // Since the run began: of virtual time, or of wall time in a live run.
  Score score{};
  double train_loss = 0;
  Traffic sent{};

  void fields(Archive& archive) {
    archive(round, seconds, score.accuracy, score.loss, train_loss, sent);
  }
};

struct MetricsRow {
  Round round = 0;     // The slowest node's.
  double seconds = 0;  // The latest of the nodes'.
  Spread accuracy{}, loss{};
  double train_loss = 0;
  // Sent by then, per node; every node's count is taken as it completes the round.
  double bytes_per_node = 0, value_bytes_per_node = 0;
  std::uint64_t messages = 0;
  std::uint32_t hostile = 0;  // Nodes that are not counted in all this.
  std::optional<NetworkFigures> network{};
  std::optional<MergedFigures> merged{};
  std::vector<Score> nodes{};  // Of each node, where that is asked for; NaN of a hostile one.
};

// Where a run's wall time went.
struct WallSeconds {
  double all = 0;
  double loop = 0;  // The rounds, without loading data.
  double training = 0, evaluating = 0;
  unsigned gpus = 0;    // 0: there is none, or nobody measured it.
  double gpu_busy = 0;  // Computing, not copying; of all GPUs together.
};

// Which program made the results, when and where: for people, and no part of what runs are compared
// by.
struct Made {
  std::string version{}, commit{}, date{}, host{};
};

struct Summary {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 0;
  std::size_t parameters = 0;
  MetricsRow last{};
  std::vector<double> node_accuracy{}, node_loss{};  // NaN of a hostile node.
  std::vector<NodeFigures> node_figures{};
  std::vector<Edge> edges{};  // Of the first round's graph.
  std::vector<NodeId> stragglers{};
  std::vector<NodeId> hostile{};
  std::vector<std::vector<std::uint32_t>> class_counts{};  // By node, then by class.
  std::vector<std::string> class_names{};
  std::map<std::string, std::uint64_t> refusals{};
  WallSeconds took{};
  std::uint64_t peak_rss_bytes = 0;
  std::uint64_t model_digest = 0;
  std::string command{};
  Made made{};              // Empty where nobody says.
  std::string shortfall{};  // Why live nodes that came to the end have not done their work.
};

// The row of a run whose nodes say this, in the order of their ids: simulated or live, there is no
// other way to make one.
MetricsRow row_of(std::span<const NodeRow> nodes);

// Without the line's end. Time is called virtual_seconds there, whichever it is.
std::string to_json_line(const MetricsRow& row);
// What one node by itself wrote as its run's row.
Result<NodeRow> parse_node_row(std::string_view line);
std::string to_json(const Summary& summary);  // summary.json
// Several seeds of one experiment, from their summary.json: mean and standard deviation of each
// figure, and each seed's own.
std::string combine_summaries(std::span<const std::string> seeds);

std::uint64_t peak_rss_bytes();  // Of this process.

}  // namespace tessera
