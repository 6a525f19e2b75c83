#include "cuda/layer.h"

#include <variant>

#include "cuda/layers.h"

namespace tessera::cuda {
namespace {

template <typename Kind>
const Kind* kind_at(std::span<const Layer> layers, std::size_t at) {
  return at < layers.size() ? std::get_if<Kind>(&layers[at].kind) : nullptr;
}

// Norm, ReLU and pooling after a convolution; ReLU and pooling are monotone, so either may come
// first.
ConvBlock block_at(std::span<const Layer> layers) {
  ConvBlock block{.length = 1};
  if ((block.norm = kind_at<GroupNorm>(layers, block.length))) ++block.length;
  for (int turn = 0; turn < 2; ++turn) {
    if (!block.relu && kind_at<Relu>(layers, block.length)) {
      block.relu = true;
      ++block.length;
    } else if (!block.pool && kind_at<MaxPool>(layers, block.length)) {
      block.pool = true;
      ++block.length;
    }
  }
  return block;
}

}  // namespace

std::size_t WorkingOrder::add(std::size_t count) {
  const std::size_t first = map.size();
  map.resize(first + (count + 3) / 4 * 4, kNowhere);
  return first;
}

std::size_t WorkingOrder::add(const Parameter& parameter) {
  const std::size_t first = add(parameter.size);
  for (std::size_t i = 0; i < parameter.size; ++i)
    map[first + i] = static_cast<std::uint32_t>(parameter.offset + i);
  return first;
}

float* Layout::gradient_in_parts(std::size_t first, std::size_t size, int count) const {
  if (!training) return nullptr;
  const std::size_t of_node = size * static_cast<std::size_t>(count);
  float* const parts = memory.take<float>(nodes * of_node);
  gradients.push_back({.first = first,
                       .size = size,
                       .parts = parts,
                       .count = count,
                       .node_stride = of_node,
                       .part_stride = size});
  return parts;
}

void CudaLayer::put_out(const Layout& layout, std::size_t width) {
  out_ = {.data = layout.rows<float>(width), .width = width};
  if (layout.training) d_out_ = layout.rows<float>(width);
}

CudaChain::CudaChain(const Model& model, std::span<const Layer> layers, const Layout& layout) {
  while (!layers.empty()) layers_.push_back(take_layer(model, layers, layout));
}

void CudaChain::forward(const Pass& pass, const Rows& in) {
  for (std::size_t i = 0; i < layers_.size(); ++i)
    layers_[i]->forward(pass, i > 0 ? layers_[i - 1]->out() : in);
}

void CudaChain::backward(const Pass& pass, const Rows& in, float* d_in) {
  for (std::size_t i = layers_.size(); i-- > 0;)
    layers_[i]->backward(pass, i > 0 ? layers_[i - 1]->out() : in,
                         i > 0 ? layers_[i - 1]->d_out() : d_in);
}

std::unique_ptr<CudaLayer> take_layer(const Model& model, std::span<const Layer>& layers,
                                      const Layout& layout) {
  const std::span<const Layer> own = layers;
  if (kind_at<Convolution>(own, 0)) {
    const ConvBlock block = block_at(own);
    layers = layers.subspan(block.length);
    return make_conv_block(model, own.front(), block, layout);
  }
  const bool relu = kind_at<Relu>(own, 1) != nullptr;
  if (const auto* const linear = kind_at<Linear>(own, 0)) {
    layers = layers.subspan(relu ? 2 : 1);
    return make_linear(model, own.front(), *linear, relu, layout);
  }
  if (const auto* const residual = kind_at<Residual>(own, 0)) {
    layers = layers.subspan(relu ? 2 : 1);
    return make_residual(model, own.front(), *residual, relu, layout);
  }
  if (const auto* const lstm = kind_at<Lstm>(own, 0)) {
    layers = layers.subspan(relu ? 2 : 1);
    return make_lstm(model, own.front(), *lstm, relu, layout);
  }
  layers = layers.subspan(1);
  if (const auto* const table = kind_at<Embedding>(own, 0))
    return make_embedding(model, own.front(), *table, layout);
  if (const auto* const factors = kind_at<Factorization>(own, 0))
    return make_factorization(model, own.front(), *factors, layout);
  return make_mean_pool(own.front(), layout);
}

std::string missing_in(std::span<const Layer> layers) {
  for (std::size_t i = 0; i < layers.size();) {
    const auto* const residual = kind_at<Residual>(layers, i);
    if (const auto* const conv = kind_at<Convolution>(layers, i)) {
      if (conv->outputs % 16 != 0) return "convolutions whose channels are no multiple of 16";
      i += block_at(layers.subspan(i)).length;
    } else if (residual || kind_at<Linear>(layers, i) || kind_at<Lstm>(layers, i)) {
      if (const auto* const lstm = kind_at<Lstm>(layers, i))
        if (const std::string missing = missing_in(*lstm); !missing.empty()) return missing;
      if (residual)
        for (const auto* const branch : {&residual->body, &residual->shortcut})
          if (const std::string missing = missing_in(*branch); !missing.empty()) return missing;
      i += kind_at<Relu>(layers, i + 1) ? 2 : 1;
    } else if (kind_at<MeanPool>(layers, i) || kind_at<Embedding>(layers, i) ||
               kind_at<Factorization>(layers, i)) {
      ++i;
    } else {
      return "a norm, ReLU or pooling on its own";
    }
  }
  return {};
}

}  // namespace tessera::cuda
