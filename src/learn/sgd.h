// Stochastic gradient descent as the papers run it, and how a node draws its minibatches.
//
//   d = g + weight_decay w        v = momentum v + d        w = w - lr v
//
// The velocity v is kept per node from round to round and exists only where momentum is asked for.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace tessera {

struct SgdOptions {
  float lr = 0.01f;
  std::size_t batch = 8;
  std::size_t steps = 1;  // Per round.
  float momentum = 0;
  float weight_decay = 0;
};

// "sgd:lr=0.01,batch=8,steps=3,momentum=0.9,weight_decay=0.0005". Throws std::invalid_argument.
SgdOptions parse_training(std::string_view spec);

// `velocity` is empty without momentum.
void apply_sgd(const SgdOptions& options, std::span<float> parameters,
               std::span<const float> gradient, std::span<float> velocity);

// The samples of each step, as places in the node's own list of `samples`. A round begins with a
// fresh shuffle and takes minibatches off its front without replacement; the last one of a pass may
// be short, and after it the list is shuffled again.
std::vector<Indices> draw_minibatches(std::size_t samples, const SgdOptions& options,
                                      Random& random);

}  // namespace tessera
