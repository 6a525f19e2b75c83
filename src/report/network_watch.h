// What the network did between two rows: how much arrived, how late, how long the queues are and
// how busy the links.
#pragma once

#include <vector>

#include "base/archive.h"
#include "report/metrics.h"
#include "sim/simulation.h"

namespace tessera {

class NetworkWatch {
 public:
  explicit NetworkWatch(std::uint32_t nodes) : before_(nodes), figures_(nodes) {}

  // Since the call before, or since the beginning.
  NetworkFigures look(const Simulation& simulation);
  const std::vector<NodeFigures>& by_node() const { return figures_; }  // As of the last look.

  void fields(Archive& archive);

 private:
  struct Before {
    std::uint64_t sent_bytes = 0, offered = 0, delivered = 0, heard = 0, staleness = 0;
    Duration delay{};
    void fields(Archive& archive) {
      archive(sent_bytes, offered, delivered, heard, staleness, delay);
    }
  };
  Instant at_{};
  std::vector<Before> before_;
  std::vector<NodeFigures> figures_;
};

}  // namespace tessera
