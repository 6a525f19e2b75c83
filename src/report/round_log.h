// A row when every honest node has completed a round that is to be measured. Each node's model is
// taken as that round left it, however far apart in time the nodes are.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "report/model_sum.h"
#include "report/network_watch.h"
#include "report/run_log.h"

namespace tessera {

class RoundLog final : public RunLog {
 public:
  // Evaluates every `every` rounds and the last one.
  RoundLog(Evaluator& evaluator, Measured measured, Round every, Round last, OnRow on_row);

  Instant next_sample() const override { return start_due_ ? Instant() : kNever; }
  void sample(const Simulation& simulation) override;  // The row of round 0.
  void on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) override;
  const Latest& latest() const override { return latest_; }

  void fields(Archive& archive) override;

 private:
  // A round that some nodes have completed and others not.
  struct Pending {
    std::vector<NodeRow> nodes{};
    std::uint32_t nodes_done = 0;
    ModelSum models{};  // In the order in which nodes complete the round, by id within an instant.
    void fields(Archive& archive) { archive(nodes, nodes_done, models); }
  };
  void complete(Pending round, const Simulation& simulation);

  Evaluator& evaluator_;
  Measured measured_;
  Round every_, last_;
  bool start_due_;
  OnRow on_row_;
  std::map<Round, Pending> pending_;
  NetworkWatch watch_;
  Latest latest_{};
};

}  // namespace tessera
