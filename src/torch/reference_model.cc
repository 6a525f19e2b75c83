#include "torch/reference_model.h"

#include <algorithm>

#include "torch/stacked_layers.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

class ReferenceModel final : public NodeModel {
 public:
  explicit ReferenceModel(const Model& model)
      : model_(model), parameters_(model.dimension()), gradient_(model.dimension()) {
    // The leaves are views of the flat vector: what SGD writes there is what the layers read.
    for (const Parameter& parameter : model_.parameters) {
      std::vector<std::int64_t> shape = parameter.shape;
      shape.insert(shape.begin(), 1);
      leaves_.push_back(
          torch::from_blob(parameters_.data() + parameter.offset, shape).requires_grad_());
    }
  }

  std::size_t outputs() const override { return model_.outputs; }
  std::span<float> parameters() override { return parameters_; }
  std::size_t trained() const override { return parameters_.size(); }
  void arrange(std::span<const float> flat, std::span<float> working) const override {
    std::copy(flat.begin(), flat.end(), working.begin());
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    std::copy(working.begin(), working.end(), flat.begin());
  }

  float differentiate(const Batch& batch) override {
    use_one_torch_thread();
    const torch::Tensor outputs = stacked::forward(model_, leaves_, features_of(batch));
    const torch::Tensor loss =
        stacked::losses(model_, outputs, view_of(batch.targets).unsqueeze(1)).mean();
    const std::vector<torch::Tensor> gradients = torch::autograd::grad({loss}, leaves_);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      copy_to(gradients[i],
              std::span(gradient_).subspan(model_.parameters[i].offset, model_.parameters[i].size));
    return loss.item<float>();
  }
  std::span<const float> gradient() const override { return gradient_; }

  void predict(const Batch& batch, std::span<float> out) override {
    use_one_torch_thread();
    const torch::NoGradGuard no_gradients;
    copy_to(stacked::forward(model_, leaves_, features_of(batch)), out);
  }

 private:
  static torch::Tensor features_of(const Batch& batch) {
    return view_of(batch.features).view({static_cast<std::int64_t>(batch.size()), 1, -1});
  }

  Model model_;
  Vector parameters_, gradient_;
  stacked::Parameters leaves_;
};

}  // namespace

std::unique_ptr<NodeModel> make_reference_model(const Model& model) {
  return std::make_unique<ReferenceModel>(model);
}

}  // namespace tessera
