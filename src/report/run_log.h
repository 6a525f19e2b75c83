// Watches a simulation from outside and makes a row of measurements now and then: after every so
// many rounds (RoundLog) or at moments of virtual time (TimeLog). Evaluating costs no virtual time,
// and no node knows of it.
#pragma once

#include <functional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "report/metrics.h"
#include "sim/simulation.h"

namespace tessera {

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
    std::vector<double> accuracy{}, loss{};  // By node.
    std::vector<NodeFigures> figures{};      // By node.
  };
  virtual const Latest& latest() const = 0;  // The last complete row.

  virtual void save(Bytes& out) const = 0;
  virtual Result<void> load(ByteReader& in) = 0;
};

}  // namespace tessera
