// Linear layers, means over pixels, and residuals.
#include "base/check.h"
#include "cuda/layers.h"

namespace tessera::cuda {
namespace {

std::size_t numbers_in(const std::vector<std::uint32_t>& shape) {
  std::size_t count = 1;
  for (const std::uint32_t extent : shape) count *= extent;
  return count;
}

class CudaLinear final : public CudaLayer {
 public:
  // PyTorch flattens an image channel by channel; ours is pixel by pixel, and so are the weights.
  CudaLinear(const Model& model, const Layer& layer, const Linear& linear, bool relu,
             const Layout& layout)
      : shape_{.inputs = static_cast<int>(linear.inputs),
               .outputs = static_cast<int>(linear.outputs),
               .relu = relu} {
    const auto own = std::span(model.parameters).subspan(layer.first_parameter);
    const std::size_t channels = layer.in.size() == 3 ? layer.in[0] : 1;
    const std::size_t pixels = linear.inputs / channels;
    WorkingOrder& order = layout.order;
    weights_ = order.add(own[0].size);
    for (std::size_t i = 0; i < own[0].size; ++i) {
      const std::size_t row = i / linear.inputs, inside = i % linear.inputs;
      order.map[weights_ + i] = static_cast<std::uint32_t>(
          own[0].offset + row * linear.inputs + inside % channels * pixels + inside / channels);
    }
    gradients_.weights = layout.gradient_in_parts(weights_, own[0].size, 1);
    bias_ = order.add(own[1]);
    gradients_.bias = layout.gradient_in_parts(bias_, own[1].size, 1);
    put_out(layout, linear.outputs);
  }

  void forward(const Pass& pass, const Rows& in) override {
    linear(pass, shape_, in, weights_, bias_, out_data());
  }
  void backward(const Pass& pass, const Rows& in, float* d_in) override {
    linear_gradient(pass, shape_, in, weights_, out_data(), d_out(), d_in, gradients_);
  }

 private:
  LinearShape shape_;
  LinearGradients gradients_;
  std::size_t weights_ = 0, bias_ = 0;
};

class CudaMeanPool final : public CudaLayer {
 public:
  CudaMeanPool(const Layer& layer, const Layout& layout)
      : pixels_(static_cast<int>(layer.in[1] * layer.in[2])),
        channels_(static_cast<int>(layer.in[0])) {
    put_out(layout, layer.in[0]);
  }
  void forward(const Pass& pass, const Rows& in) override {
    CHECK(in.chosen == nullptr);
    mean_pool(pass, pixels_, channels_, in.data, out_data());
  }
  void backward(const Pass& pass, const Rows&, float* d_in) override {
    mean_pool_gradient(pass, pixels_, channels_, d_out(), d_in);
  }

 private:
  int pixels_, channels_;
};

class CudaResidual final : public CudaLayer {
 public:
  CudaResidual(const Model& model, const Layer& layer, const Residual& residual, bool relu,
               const Layout& layout)
      : relu_(relu),
        in_width_(numbers_in(layer.in)),
        body_(model, residual.body, layout),
        shortcut_(model, residual.shortcut, layout) {
    put_out(layout, body_.last().out().width);
    if (layout.training && !shortcut_.empty()) d_skip_ = layout.rows<float>(in_width_);
  }

  void forward(const Pass& pass, const Rows& in) override {
    CHECK(in.chosen == nullptr);
    body_.forward(pass, in);
    if (!shortcut_.empty()) shortcut_.forward(pass, in);
    const float* const skip = shortcut_.empty() ? in.data : shortcut_.last().out().data;
    add_rows(pass, out().width, body_.last().out().data, skip, relu_, out_data());
  }
  void backward(const Pass& pass, const Rows& in, float* d_in) override {
    if (relu_) mask_rows(pass, out().width, out().data, d_out());
    pass_on(pass, body_);
    body_.backward(pass, in, d_in);
    if (!shortcut_.empty()) {
      pass_on(pass, shortcut_);
      shortcut_.backward(pass, in, d_skip_);
    }
    add_rows(pass, in_width_, d_in, shortcut_.empty() ? d_out() : d_skip_, false, d_in);
  }

 private:
  void pass_on(const Pass& pass, const CudaChain& branch) const {
    copy_rows(pass, out().width, d_out(), branch.last().d_out());
  }

  bool relu_;
  std::size_t in_width_;
  CudaChain body_, shortcut_;
  float* d_skip_ = nullptr;
};

}  // namespace

std::unique_ptr<CudaLayer> make_linear(const Model& model, const Layer& layer, const Linear& linear,
                                       bool relu, const Layout& layout) {
  return std::make_unique<CudaLinear>(model, layer, linear, relu, layout);
}

std::unique_ptr<CudaLayer> make_mean_pool(const Layer& layer, const Layout& layout) {
  return std::make_unique<CudaMeanPool>(layer, layout);
}

std::unique_ptr<CudaLayer> make_residual(const Model& model, const Layer& layer,
                                         const Residual& residual, bool relu,
                                         const Layout& layout) {
  return std::make_unique<CudaResidual>(model, layer, residual, relu, layout);
}

}  // namespace tessera::cuda
