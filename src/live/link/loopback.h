// A network inside one process, for tests: the same links and the same rules as between machines,
// with memory for a wire.
#pragma once

#include <memory>

#include "live/link/carrier.h"
#include "live/link/transport.h"

namespace tessera {

class LoopbackNetwork {
 public:
  LoopbackNetwork();
  ~LoopbackNetwork();

  // Members' addresses and keys are not looked at.
  std::unique_ptr<Transport> attach(NodeId self, std::span<const Member> members,
                                    const TransportOptions& options);
  std::unique_ptr<Carrier> carrier(NodeId self);  // Its frames alone.
  // Breaks the connection between two nodes, or lets them connect again.
  void cut(NodeId a, NodeId b, bool broken);

  struct Hub;

 private:
  std::shared_ptr<Hub> hub_;
};

}  // namespace tessera
