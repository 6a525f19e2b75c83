// The kinds of layer this folder has kernels for.
#pragma once

#include "cuda/layer.h"

namespace tessera::cuda {

// A convolution and what is done with its result before anyone sees it.
struct ConvBlock {
  std::size_t length = 0;  // Layers that make it.
  const GroupNorm* norm = nullptr;
  bool relu = false, pool = false;
};

// Whether the first layer reads the samples' pixels as pairs of halves (pairs.h).
bool takes_pixel_pairs(const Model& model, Precision precision);

std::unique_ptr<CudaLayer> make_conv_block(const Model& model, const Layer& layer,
                                           const ConvBlock& block, const Layout& layout);
std::unique_ptr<CudaLayer> make_linear(const Model& model, const Layer& layer, const Linear& linear,
                                       bool relu, const Layout& layout);
std::unique_ptr<CudaLayer> make_residual(const Model& model, const Layer& layer,
                                         const Residual& residual, bool relu, const Layout& layout);
std::unique_ptr<CudaLayer> make_mean_pool(const Layer& layer, const Layout& layout);
std::unique_ptr<CudaLayer> make_embedding(const Model& model, const Layer& layer,
                                          const Embedding& table, const Layout& layout);
std::unique_ptr<CudaLayer> make_lstm(const Model& model, const Layer& layer, const Lstm& lstm,
                                     bool relu, const Layout& layout);
std::string missing_in(const Lstm& lstm);
std::unique_ptr<CudaLayer> make_factorization(const Model& model, const Layer& layer,
                                              const Factorization& factors, const Layout& layout);

}  // namespace tessera::cuda
