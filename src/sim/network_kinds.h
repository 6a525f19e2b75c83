// The rows of the table of networks; each lives in a file of its own.
#pragma once

#include <memory>

#include "sim/network.h"

namespace tessera {

std::unique_ptr<Network> make_ideal(Options& options, const NetworkContext& context);
std::unique_ptr<Network> make_links(Options& options, const NetworkContext& context);
std::unique_ptr<Network> make_fifo(Options& options, const NetworkContext& context);
std::unique_ptr<Network> make_matrix(Options& options, const NetworkContext& context);

}  // namespace tessera
