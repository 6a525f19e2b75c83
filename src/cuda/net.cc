#include "cuda/net.h"

#include <algorithm>

namespace tessera::cuda {
namespace {

template <typename T>
DeviceArray<T> on_device(const std::vector<T>& values) {
  DeviceArray<T> memory(values.size());
  if (!values.empty()) upload_now(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

std::vector<std::uint32_t> inverse_of(const std::vector<std::uint32_t>& map, std::size_t size) {
  std::vector<std::uint32_t> inverse(size, kNowhere);
  for (std::size_t i = 0; i < map.size(); ++i)
    if (map[i] != kNowhere) inverse[map[i]] = static_cast<std::uint32_t>(i);
  return inverse;
}

std::vector<Gradient> in_pieces(const std::vector<Gradient>& gradients) {
  std::vector<Gradient> pieces;
  for (const Gradient& gradient : gradients)
    for (std::size_t start = 0; start < gradient.size; start += kDescentPiece) {
      Gradient& piece = pieces.emplace_back(gradient);
      piece.first += start;
      piece.parts += start;
      piece.size = std::min(kDescentPiece, gradient.size - start);
    }
  return pieces;
}

}  // namespace

CudaNet::CudaNet(const Model& model, const NetSize& size)
    : nodes_(size.nodes), flat_dimension_(model.dimension()), memory_(bytes_for(model, size)) {
  Memory memory(memory_.data());
  lay_out(model, size, memory);
  map_ = on_device(order_.map);
  inverse_ = on_device(inverse_of(order_.map, flat_dimension_));
  device_gradients_ = on_device(in_pieces(gradients_));
}

void CudaNet::lay_out(const Model& model, const NetSize& size, Memory& memory) {
  const Layout layout{.nodes = size.nodes,
                      .batch = size.batch,
                      .training = size.training,
                      .precision = size.precision,
                      .sparse = size.sparse,
                      .memory = memory,
                      .order = order_,
                      .gradients = gradients_};
  chain_ = CudaChain(model, model.layers, layout);
}

std::size_t CudaNet::bytes_for(const Model& model, const NetSize& size) {
  Memory memory;
  WorkingOrder order;
  std::vector<Gradient> gradients;
  const CudaChain chain(model, model.layers,
                        {.nodes = size.nodes,
                         .batch = size.batch,
                         .training = size.training,
                         .precision = size.precision,
                         .sparse = size.sparse,
                         .memory = memory,
                         .order = order,
                         .gradients = gradients});
  return memory.used();
}

void CudaNet::arrange(const Stream& stream, std::size_t nodes, const float* flat,
                      float* working) const {
  gather(stream.get(), static_cast<int>(nodes), map_.data(), flat_dimension_, flat, dimension(),
         working);
}

void CudaNet::restore(const Stream& stream, std::size_t nodes, const float* working,
                      float* flat) const {
  gather(stream.get(), static_cast<int>(nodes), inverse_.data(), dimension(), working,
         flat_dimension_, flat);
}

void CudaNet::descend(const Pass& pass, const Descent& descent, float* parameters,
                      const MomentRows& moments) {
  chain_.first().descend(pass, descent, parameters);
  const GradientList list{device_gradients_.data(), static_cast<int>(device_gradients_.size())};
  if (list.count == 0) return;
  if (descent.clip > 0) {
    squares_.fit(nodes_ * device_gradients_.size());
    scales_.fit(nodes_);
    clip_scales(pass, descent.clip, list, squares_.data(), scales_.data());
  }
  cuda::descend(pass, descent, list, descent.clip > 0 ? scales_.data() : nullptr, parameters,
                moments);
}

}  // namespace tessera::cuda
