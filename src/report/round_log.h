// A row when every node has completed a round that is to be measured. Each node's model is taken as
// that round left it, however far apart in time the nodes are.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "report/network_watch.h"
#include "report/run_log.h"

namespace tessera {

class RoundLog final : public RunLog {
 public:
  // Evaluates every `every` rounds and the last one.
  RoundLog(Evaluator& evaluator, std::uint32_t nodes, Round every, Round last, OnRow on_row);

  void on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) override;
  const Latest& latest() const override { return latest_; }

  // Rounds some nodes have completed and others not.
  void save(Bytes& out) const override;
  Result<void> load(ByteReader& in) override;

 private:
  struct Pending {
    std::vector<double> accuracy{}, loss{}, train_loss{};  // By node.
    std::uint32_t nodes_done = 0;
    std::uint64_t bytes = 0, value_bytes = 0, messages = 0;
  };
  void complete(Round round, const Pending& pending, const Simulation& simulation);

  Evaluator& evaluator_;
  std::uint32_t nodes_;
  Round every_, last_;
  OnRow on_row_;
  std::map<Round, Pending> pending_;
  NetworkWatch watch_;
  Latest latest_{};
};

}  // namespace tessera
