#include "torch/column_convolution.h"

#include <cstdint>
#include <vector>

namespace tessera::stacked {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

// [B, K, C, H, W] to [K, C kernel kernel, B H W]: one copy out of overlapping views of the padded
// images.
Tensor columns(const Tensor& x, std::int64_t kernel) {
  const std::int64_t border = kernel / 2;
  const Tensor padded = torch::constant_pad_nd(x, {border, border, border, border}).contiguous();
  const std::int64_t batch = x.size(0), nodes = x.size(1), channels = x.size(2), height = x.size(3),
                     width = x.size(4);
  const auto stride = padded.strides();
  const Tensor patches = padded.as_strided(
      {nodes, channels, kernel, kernel, batch, height, width},
      {stride[1], stride[2], stride[3], stride[4], stride[0], stride[3], stride[4]});
  return patches.reshape({nodes, channels * kernel * kernel, batch * height * width});
}

// [K, C, B H W] back to [B, K, C, H, W].
Tensor as_images(const Tensor& rows, at::IntArrayRef like, std::int64_t channels) {
  return rows.view({like[1], channels, like[0], like[3], like[4]})
      .permute({2, 0, 1, 3, 4})
      .contiguous();
}

struct Function : torch::autograd::Function<Function> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& weight,
                        const Tensor& bias) {
    const std::int64_t nodes = weight.size(0), outputs = weight.size(1);
    const Tensor patches = columns(x, weight.size(3));
    context->save_for_backward({patches, weight});
    context->saved_data["shape"] = x.sizes().vec();
    return as_images(
        torch::baddbmm(bias.unsqueeze(2), weight.reshape({nodes, outputs, -1}), patches), x.sizes(),
        outputs);
  }

  static tensor_list backward(AutogradContext* context, tensor_list gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor &patches = saved[0], &weight = saved[1];
    const std::vector<std::int64_t> shape = context->saved_data["shape"].toIntVector();
    const std::int64_t nodes = weight.size(0), outputs = weight.size(1), inputs = weight.size(2),
                       kernel = weight.size(3);
    const Tensor& d_out = gradients[0];
    const Tensor rows = d_out.permute({1, 2, 0, 3, 4}).reshape({nodes, outputs, -1});
    Tensor d_x;
    if (context->needs_input_grad(0)) {
      const Tensor turned = weight.flip({3, 4}).transpose(1, 2).reshape({nodes, inputs, -1});
      d_x = as_images(torch::bmm(turned, columns(d_out, kernel)), shape, inputs);
    }
    return {d_x, torch::bmm(rows, patches.transpose(1, 2)).view_as(weight), rows.sum(2)};
  }
};

}  // namespace

Tensor column_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const std::int64_t nodes = weight.size(0);
  const Tensor images = x.view({x.size(0), nodes, x.size(1) / nodes, x.size(2), x.size(3)});
  return Function::apply(images, weight, bias).flatten(1, 2);
}

}  // namespace tessera::stacked
