#include "learn/cpu_chain.h"

#include <variant>

#include "learn/layers/conv_block.h"
#include "learn/layers/flatten.h"

namespace tessera {
namespace {

template <typename... Kinds>
bool is_any_of(const Layer& layer) {
  return (std::holds_alternative<Kinds>(layer.kind) || ...);
}

// Makes the CPU layer for the run of layers at the front and takes them off.
std::unique_ptr<CpuLayer> take_front(std::span<const Layer>& layers, CpuPlace place) {
  if (const std::size_t length = conv_block_length(layers, place.first)) {
    auto block = make_conv_block(layers.first(length), place);
    layers = layers.subspan(length);
    return block;
  }
  place.relu = layers.size() > 1 && is_any_of<GroupNorm, Linear, Lstm, Residual>(layers[0]) &&
               is_any_of<Relu>(layers[1]);
  layers = layers.subspan(place.relu ? 2 : 1);
  return std::visit([&](const auto& kind) { return make_cpu(kind, place); }, place.layer.kind);
}

}  // namespace

CpuChain::CpuChain(const Model& model, std::span<const Layer> layers, std::size_t batch_max,
                   bool first, CpuKernels kernels) {
  while (!layers.empty()) {
    const CpuPlace place{.model = model,
                         .layer = layers.front(),
                         .batch_max = batch_max,
                         .first = first && layers_.empty(),
                         .kernels = kernels};
    if (is_any_of<Linear>(place.layer) && place.layer.in.size() > 1 && !place.first)
      add(make_flatten(place), place);
    add(take_front(layers, place), place);
  }
}

void CpuChain::add(std::unique_ptr<CpuLayer> layer, const CpuPlace& place) {
  layers_.push_back(std::move(layer));
  first_parameters_.push_back(place.first_parameter());
}

void CpuChain::arrange(std::span<const float> flat, std::span<float> working) const {
  for (const auto& layer : layers_) layer->arrange(flat, working);
}

void CpuChain::restore(std::span<const float> working, std::span<float> flat) const {
  for (const auto& layer : layers_) layer->restore(working, flat);
}

void CpuChain::forward(std::span<const float> parameters, const float* in, std::size_t batch) {
  for (const auto& layer : layers_) {
    layer->forward(parameters, in, batch);
    in = layer->out();
  }
}

void CpuChain::backward(std::span<const float> parameters, std::span<float> gradient,
                        const float* in, float* d_in) {
  for (std::size_t i = layers_.size(); i-- > 0;)
    layers_[i]->backward(parameters, gradient, i > 0 ? layers_[i - 1]->out() : in,
                         i > 0 ? layers_[i - 1]->d_out() : d_in);
}

void CpuChain::descend(std::span<const float> parameters, std::span<float> gradient,
                       const float* in, float* d_in, Extent own, const Update& update) {
  std::size_t end = own.first + own.count;
  for (std::size_t i = layers_.size(); i-- > 0; end = first_parameters_[i])
    layers_[i]->descend(parameters, gradient, i > 0 ? layers_[i - 1]->out() : in,
                        i > 0 ? layers_[i - 1]->d_out() : d_in,
                        {first_parameters_[i], end - first_parameters_[i]}, update);
}

}  // namespace tessera
