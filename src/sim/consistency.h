// What must hold among the parts of a simulation between two instants. Each part sees to itself;
// here are the promises that need two: a message on its way is in exactly one place, a node trains
// exactly when a training of it is under way. Asked of a checkpoint before it is believed.
#pragma once

#include <string>

#include "sim/flights.h"
#include "sim/happening.h"
#include "sim/lives.h"
#include "sim/network.h"
#include "sim/shard.h"

namespace tessera {

struct SimulationState {
  const Shard& shard;
  const Lives& lives;
  const Flights& flights;
  const Network& network;
  const Agenda& agenda;
  Instant now{};
};

// The first promise that is broken, in words; empty when all hold.
std::string contradiction(const SimulationState& state);

}  // namespace tessera
