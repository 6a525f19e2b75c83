// A row at every so many seconds of virtual time, for protocols whose nodes have no rounds in
// common. All honest nodes are evaluated as they stand, whatever they are doing.
#pragma once

#include "report/network_watch.h"
#include "report/run_log.h"

namespace tessera {

class TimeLog final : public RunLog {
 public:
  // At `every`, twice that, and so on up to and including `last`; before that at the start, where
  // that is measured.
  TimeLog(Evaluator& evaluator, Measured measured, Duration every, Instant last, OnRow on_row);

  Instant next_sample() const override { return next_; }
  void sample(const Simulation& simulation) override;
  void finish(const Simulation& simulation) override;
  void on_rounds_done(const Simulation& simulation, std::span<const RoundDone> done) override;
  const Latest& latest() const override { return latest_; }

  void fields(Archive& archive) override;

 private:
  std::optional<MergedFigures> merged(const Simulation& simulation);

  Evaluator& evaluator_;
  Measured measured_;
  Duration every_;
  Instant first_, next_, last_;
  OnRow on_row_;
  NetworkWatch watch_;
  Latest latest_{};
};

}  // namespace tessera
