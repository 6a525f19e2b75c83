// Watches a simulation from outside and makes a row of measurements now and then: after every so
// many rounds (RoundLog) or at moments of virtual time (TimeLog). Evaluating costs no virtual time,
// and no node knows of it.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/archive.h"
#include "report/metrics.h"
#include "sim/simulation.h"

namespace tessera {

// Which nodes a row is made of: the honest ones.
struct Measured {
  // `hostile` ascending.
  Measured(std::uint32_t all, std::span<const NodeId> hostile);

  std::uint32_t all = 0;        // Nodes of the run.
  std::vector<NodeId> nodes{};  // Those measured, ascending.
  // Of their models, where the mean of these is tested too; 0 where it is not.
  std::size_t merged_dimension = 0;
  bool starts = false;     // Whether the first row is of the models as they begin.
  bool each_node = false;  // Whether rows have every node's scores.
  bool counts(NodeId node) const;
  std::vector<NodeRow> no_rows() const;  // Of all nodes, for those measured to be filled in.
  MetricsRow row(std::span<const NodeRow> by_node) const;
};

using OnRow = std::function<void(const MetricsRow&)>;

class RunLog : public Observer {
 public:
  // The moment at which sample() is to be called, before anything of that instant happens; kNever
  // for one that goes by rounds.
  virtual Instant next_sample() const { return kNever; }
  virtual void sample(const Simulation&) {}
  virtual void finish(const Simulation&) {}  // The run is over; a last row, where one is due.

  struct Latest {
    MetricsRow row{};
    std::vector<NodeRow> nodes{};  // What it was made of, by node; NaN of who is not measured.
    std::vector<NodeFigures> figures{};  // By node.

    void fields(Archive& archive, const Measured& measured);
  };
  virtual const Latest& latest() const = 0;  // The last complete row.

  virtual void fields(Archive& archive) = 0;
};

// The training loss of a row that comes before any training.
constexpr double kNoLoss = std::numeric_limits<double>::quiet_NaN();

// What a simulated node has to say now, having done so many rounds and been tested.
inline NodeRow node_row(const Simulation& simulation, const RoundDone& done, const Score& score) {
  return {.round = done.round,
          .seconds = to_seconds(simulation.now().time_since_epoch()),
          .score = score,
          .train_loss = simulation.progress().loss(done.node),
          .sent = simulation.sent(done.node)};
}

}  // namespace tessera
