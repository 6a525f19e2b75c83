// The convolution of K nodes as one batched matrix product. cuDNN's grouped convolutions are far
// from the GPU's limits when groups are as many and as small as ours (an H200 takes 8.7 ms for a
// step of 96 GN-LeNets, 0.9 ms of which are arithmetic). Writing out the patch under every output
// pixel as a column (im2col) turns a layer into K products (GEMM)
//
//   y_k = W_k columns(x_k) + b_k,      W_k [outputs, inputs x kernel x kernel]
//
// and its gradients into two more, of which the one for the input is a convolution again, with the
// weights turned by 180 degrees. The columns cost kernel^2 times the memory of the input while a
// step runs.
//
// Internal to torch/: this header shows LibTorch.
#pragma once

#include "torch/libtorch.h"

namespace tessera::stacked {

// x [B, K inputs, height, width], weight [K, outputs, inputs, kernel, kernel], bias [K, outputs]:
// stride 1, an odd kernel, zeros around the borders. Gives [B, K outputs, height, width].
torch::Tensor column_convolution(const torch::Tensor& x, const torch::Tensor& weight,
                                 const torch::Tensor& bias);

}  // namespace tessera::stacked
