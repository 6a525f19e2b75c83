// The optimizers' steps (learn/optimizer.h) for many nodes, and images moved before they are
// trained on.
#pragma once

#include "cuda/kernels.h"
#include "learn/image_move.h"
#include "learn/step_rates.h"

namespace tessera::cuda {

// What an optimizer keeps beside the parameters: v, or m and s.
struct MomentRows {
  float* first = nullptr;
  float* second = nullptr;
};

struct Descent {
  bool adam = false, nesterov = false;
  float momentum = 0;
  float weight_decay = 0;  // That is added to gradients.
  float beta1 = 0, rest1 = 1, beta2 = 0, rest2 = 1, epsilon = 0;
  float clip = 0;                    // 0: gradients may have any norm.
  const StepRates* rates = nullptr;  // [node], on the device.
};

// Where the gradients lie, on the device, in pieces of at most kDescentPiece.
constexpr std::size_t kDescentPiece = 1024;
struct GradientList {
  const Gradient* pieces = nullptr;
  int count = 0;
};
// scales[node]: by which the node's gradient is multiplied to have no more than the norm asked for;
// `squares`, [node][piece], is scratch.
void clip_scales(const Pass& pass, float clip, const GradientList& gradients, double* squares,
                 float* scales);
// `scales` may be null.
void descend(const Pass& pass, const Descent& descent, const GradientList& gradients,
             const float* scales, float* parameters, const MomentRows& moments);

struct ImageShape {
  int height = 0, width = 0, channels = 0;
};
// moves[node][batch]; what is moved in from outside is zero.
void move_images(const Pass& pass, const ImageShape& shape, const Rows& in, const ImageMove* moves,
                 float* out);

}  // namespace tessera::cuda
