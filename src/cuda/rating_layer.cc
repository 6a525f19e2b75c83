// Matrix factorization. A batch touches a few of many thousand rows: where no optimizer asks for
// the gradients of the others, the rows touched are all that is worked on.
#include "cuda/layers.h"
#include "cuda/runtime.h"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

class CudaFactorization final : public CudaLayer {
 public:
  CudaFactorization(const Model& model, const Layer& layer, const Factorization& factors,
                    const Layout& layout)
      : shape_{.width = static_cast<int>(factors.width)} {
    const auto own = std::span(model.parameters).subspan(layer.first_parameter, 2);
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::size_t first = layout.order.add(own[i]);
      (i == 0 ? shape_.users : shape_.items) = first;
      dense_[i].size = own[i].size;
      if (!layout.sparse) dense_[i].data = layout.gradient_in_parts(first, own[i].size, 1);
    }
    put_out(layout, 1);
    if (!layout.training) return;
    touched_ = {.terms = layout.rows<float>(2 * std::size_t{factors.width}),
                .rows = layout.rows<std::uint32_t>(2)};
  }

  void forward(const Pass& pass, const Rows& in) override { rate(pass, shape_, in, out_data()); }

  void backward(const Pass& pass, const Rows& in, float* /*d_in*/) override {
    rate_gradient(pass, shape_, in, d_out(), touched_);
    if (!dense_[0].data) return;
    for (const Dense& dense : dense_)
      require(cudaMemsetAsync(dense.data, 0,
                              static_cast<std::size_t>(pass.nodes) * dense.size * sizeof(float),
                              pass.stream),
              "clearing memory");
    gather_touched(pass, shape_, touched_, dense_[0].data, dense_[0].size, dense_[1].data,
                   dense_[1].size);
  }

  void descend(const Pass& pass, const Descent& descent, float* parameters) override {
    if (!dense_[0].data) descend_touched(pass, shape_, touched_, descent.lr, parameters);
  }

 private:
  struct Dense {
    float* data = nullptr;
    std::size_t size = 0;
  };

  RatingShape shape_;
  RatingGradients touched_{};
  Dense dense_[2]{};  // Gradients of all users and items, where they are wanted.
};

}  // namespace

std::unique_ptr<CudaLayer> make_factorization(const Model& model, const Layer& layer,
                                              const Factorization& factors, const Layout& layout) {
  return std::make_unique<CudaFactorization>(model, layer, factors, layout);
}

}  // namespace tessera::cuda
