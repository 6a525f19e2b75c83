// A convolution with what follows it. Its result x, and later the gradient dx, take the same
// memory.
#include "cuda/layers.h"
#include "cuda/pairs.h"

namespace tessera::cuda {
namespace {

int whole(std::size_t count) {
  return static_cast<int>(count);
}

// [segments][length][outputs] of our order from [outputs][inputs][kernel][kernel] of PyTorch's.
std::size_t arrange_weights(const ConvShape& shape, std::size_t flat, WorkingOrder& order) {
  const std::size_t first = order.add(static_cast<std::size_t>(shape.rows()) * shape.outputs);
  for (int row = 0; row < shape.rows(); ++row) {
    const int segment = row / shape.length(), inside = row % shape.length();
    if (shape.by_rows() && inside >= shape.kernel * shape.inputs) continue;
    const int tap = shape.by_rows() ? segment * shape.kernel + inside / shape.inputs : segment;
    const int input = shape.by_rows() ? inside % shape.inputs : inside;
    for (int output = 0; output < shape.outputs; ++output)
      order.map[first + static_cast<std::size_t>(row * shape.outputs + output)] =
          static_cast<std::uint32_t>(flat) +
          static_cast<std::uint32_t>((output * shape.inputs + input) * shape.kernel * shape.kernel +
                                     tap);
  }
  return first;
}

ConvShape shape_of(const Layer& layer) {
  const auto& conv = std::get<Convolution>(layer.kind);
  return {.height = whole(layer.in[1]),
          .width = whole(layer.in[2]),
          .inputs = whole(layer.in[0]),
          .outputs = whole(conv.outputs),
          .kernel = whole(conv.kernel),
          .stride = whole(conv.stride)};
}

class CudaConvBlock final : public CudaLayer {
 public:
  CudaConvBlock(const Model& model, const Layer& layer, const ConvBlock& block,
                const Layout& layout)
      : shape_(shape_of(layer)) {
    after_ = {.height = shape_.out_height(),
              .width = shape_.out_width(),
              .channels = shape_.outputs,
              .groups = block.norm ? whole(block.norm->groups) : 0,
              .relu = block.relu,
              .pool = block.pool};
    take_parameters(model, layer, layout);
    take_memory(layout);
  }

  void forward(const Pass& pass, const Rows& in) override {
    if (by_pairs_ && shape_.by_rows() && in.pixel_pairs) {
      split_first_weights(pass, shape_, weights_, weight_pairs_);
      convolve_first(pass, shape_, pixel_pairs(in, shape_.inputs), weight_pairs_, bias_, memory_.x);
    } else if (splits(in)) {
      split_weights(pass, shape_, weights_, weight_maxima_, weight_pairs_);
      split_images(pass, in, shape_.inputs, maxima_, in_pairs_);
      convolve_pairs(pass, shape_, in_pairs_, weight_pairs_, bias_, memory_.x);
    } else {
      convolve(pass, shape_, in, weights_, bias_, memory_.x);
    }
    after_convolution(pass, after_, memory_, gamma_, beta_);
  }

  void backward(const Pass& pass, const Rows& in, float* d_in) override {
    after_convolution_gradient(pass, after_, memory_, gamma_, d_out(), sums_);
    if (splits(in)) return gradients_by_pairs(pass, d_in);
    if (d_in) convolve_inputs(pass, shape_, memory_.x, weights_, d_in);
    if (by_pairs_ && in.pixel_pairs)
      convolve_first_weights(pass, shape_, pixel_pairs(in, shape_.inputs), d_x(), d_weights_);
    else
      convolve_weights(pass, shape_, in, memory_.x, d_weights_);
  }

 private:
  void take_parameters(const Model& model, const Layer& layer, const Layout& layout) {
    const auto own = std::span(model.parameters).subspan(layer.first_parameter);
    weights_ = arrange_weights(shape_, own[0].offset, layout.order);
    d_weights_ =
        layout.gradient_in_parts(weights_, static_cast<std::size_t>(shape_.rows() * shape_.outputs),
                                 weight_parts(shape_, whole(layout.batch)));
    bias_ = layout.order.add(own[1]);
    sums_.bias = layout.gradient_in_parts(bias_, own[1].size, whole(layout.batch));
    if (after_.groups == 0) return;
    gamma_ = layout.order.add(own[2]);
    sums_.gamma = layout.gradient_in_parts(gamma_, own[2].size, whole(layout.batch));
    beta_ = layout.order.add(own[3]);
    sums_.beta = layout.gradient_in_parts(beta_, own[3].size, whole(layout.batch));
  }
  void take_memory(const Layout& layout) {
    const auto channels = static_cast<std::size_t>(shape_.outputs);
    const std::size_t width = static_cast<std::size_t>(after_.out_pixels()) * channels;
    put_out(layout, width);
    memory_.x =
        layout.rows<float>(static_cast<std::size_t>(after_.height) * after_.width * channels);
    memory_.out = out_data();
    if (layout.training) memory_.winner = layout.rows<std::uint8_t>(width);
    if (after_.groups > 0)
      memory_.moments = layout.rows<float>(2 * static_cast<std::size_t>(after_.groups));
    if (takes_pairs(layout.precision)) take_pairs(layout);
  }
  void take_pairs(const Layout& layout) {
    memory_.maxima = layout.rows<float>(1);
    know_maxima(memory_.maxima);
    if (layout.training) memory_.d_maxima = layout.rows<float>(1);
    by_pairs_ = !shape_.by_rows() || first_pairs_fit(shape_);
    if (!by_pairs_) return;
    const bool first = shape_.by_rows();
    const std::size_t of_node = first ? first_weights_size(shape_)
                                      : static_cast<std::size_t>(shape_.rows()) * shape_.outputs;
    weight_pairs_ = {layout.memory.take<float>(layout.nodes * of_node),
                     layout.memory.take<float>(layout.nodes)};
    if (first) return;
    weight_maxima_ =
        layout.memory.take<float>(layout.nodes * static_cast<std::size_t>(weight_pieces(shape_)));
    const auto pixels = static_cast<std::size_t>(shape_.height) * shape_.width;
    in_pairs_ = {layout.rows<float>(pixels * shape_.inputs), layout.rows<float>(1)};
    maxima_ = layout.rows<float>(1);
    if (layout.training) d_unit_ = layout.rows<float>(1);
  }
  Rows d_x() const {
    return {.data = memory_.x,
            .width = static_cast<std::size_t>(after_.height) * after_.width * shape_.outputs,
            .maxima = memory_.d_maxima};
  }
  // Samples that are chosen out of a dataset are not split: it has them as pairs, or they stay
  // floats.
  bool splits(const Rows& in) const { return by_pairs_ && !shape_.by_rows() && !in.chosen; }
  // The gradient dx becomes pairs where it lies.
  void gradients_by_pairs(const Pass& pass, float* d_in) const {
    const Pairs d_out{memory_.x, d_unit_};
    split_images(pass, d_x(), shape_.outputs, nullptr, d_out);
    if (d_in) convolve_inputs_pairs(pass, shape_, d_out, weight_pairs_, d_in);
    convolve_weights_pairs(pass, shape_, in_pairs_, d_out, d_weights_);
  }

  ConvShape shape_;
  AfterShape after_;
  AfterMemory memory_;
  AfterGradients sums_;
  float* d_weights_ = nullptr;
  bool by_pairs_ = false;
  Pairs weight_pairs_, in_pairs_;
  float *weight_maxima_ = nullptr, *maxima_ = nullptr, *d_unit_ = nullptr;
  std::size_t weights_ = 0, bias_ = 0, gamma_ = 0, beta_ = 0;  // In working order.
};

}  // namespace

bool takes_pixel_pairs(const Model& model, Precision precision) {
  if (!takes_pairs(precision) || model.layers.empty()) return false;
  const Layer& first = model.layers.front();
  return std::holds_alternative<Convolution>(first.kind) && shape_of(first).by_rows() &&
         first_pairs_fit(shape_of(first));
}

std::unique_ptr<CudaLayer> make_conv_block(const Model& model, const Layer& layer,
                                           const ConvBlock& block, const Layout& layout) {
  return std::make_unique<CudaConvBlock>(model, layer, block, layout);
}

}  // namespace tessera::cuda
