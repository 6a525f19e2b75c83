// Watches a simulation from outside: evaluates the models of the rounds it is asked to, and hands
// on a row when every node has completed one. Evaluation costs no virtual time, and no node knows
// of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "node/trainer.h"
#include "report/metrics.h"
#include "sim/simulation.h"

namespace tessera {

class RoundLog final : public Observer {
 public:
  using OnRow = std::function<void(const MetricsRow&)>;

  // Evaluates every `every` rounds and the last one.
  RoundLog(Evaluator& evaluator, std::uint32_t nodes, Round every, Round last, OnRow on_row);

  // Throws std::runtime_error when a model has diverged: no later figure of that run would mean
  // anything.
  void on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) override;

  // Of the last complete row.
  const MetricsRow& last_row() const { return last_row_; }
  const std::vector<double>& node_accuracy() const { return node_accuracy_; }
  const std::vector<double>& node_loss() const { return node_loss_; }

  // Rounds some nodes have completed and others not.
  void save(Bytes& out) const;
  Result<void> load(ByteReader& in);

 private:
  struct Pending {
    std::vector<double> accuracy{}, loss{}, train_loss{};  // By node.
    std::uint32_t nodes_done = 0;
    std::uint64_t bytes = 0, value_bytes = 0, messages = 0;
  };
  void complete(Round round, const Pending& pending, double virtual_seconds);

  Evaluator& evaluator_;
  std::uint32_t nodes_;
  Round every_, last_;
  OnRow on_row_;
  std::map<Round, Pending> pending_;
  MetricsRow last_row_{};
  std::vector<double> node_accuracy_, node_loss_;
};

}  // namespace tessera
