// The one Transport there is: links (link.h) over a carrier (carrier.h), with a thread of its own
// that keeps them going while the node trains.
#pragma once

#include <memory>
#include <span>

#include "live/link/carrier.h"
#include "live/link/transport.h"

namespace tessera {

// Throws std::invalid_argument for options that cannot be.
std::unique_ptr<Transport> make_link_transport(NodeId self, std::span<const Member> members,
                                               const TransportOptions& options,
                                               std::unique_ptr<Carrier> carrier);

}  // namespace tessera
