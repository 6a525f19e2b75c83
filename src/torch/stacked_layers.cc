#include "torch/stacked_layers.h"

#include <variant>

#include "torch/column_convolution.h"

namespace tessera::stacked {
namespace {

// What a layer sees: its own description, the parameters of all nodes, and how many those are.
struct Context {
  const Layer& layer;
  const Parameters& parameters;
  std::int64_t nodes;
  const Tensor& parameter(std::size_t i) const { return parameters[layer.first_parameter + i]; }
};

Tensor apply(const Convolution& convolution, const Context& c, const Tensor& x) {
  // While learning, many small groups are faster as columns. Not while evaluating: batches are
  // large there, and so would the columns be.
  const bool shared_samples = x.size(1) == c.parameter(0).size(2);
  if (at::GradMode::is_enabled() && convolution.stride == 1 && !shared_samples)
    return column_convolution(x, c.parameter(0), c.parameter(1));
  const Tensor weight = c.parameter(0).flatten(0, 1);  // [K outputs, inputs, kernel, kernel]
  const std::int64_t groups = x.size(1) / weight.size(1);
  const std::vector<std::int64_t> stride(2, convolution.stride), padding(2, convolution.kernel / 2),
      dilation(2, 1);
  return torch::conv2d(x, weight, c.parameter(1).flatten(), stride, at::IntArrayRef(padding),
                       dilation, groups);
}

Tensor apply(const GroupNorm& norm, const Context& c, const Tensor& x) {
  return torch::group_norm(x, c.nodes * norm.groups, c.parameter(0).flatten(),
                           c.parameter(1).flatten(), 1e-5);
}

Tensor apply(const Relu&, const Context&, const Tensor& x) {
  return torch::relu(x);
}

Tensor apply(const MaxPool&, const Context&, const Tensor& x) {
  return torch::max_pool2d(x, {2, 2});
}

Tensor apply(const MeanPool&, const Context& c, const Tensor& x) {
  return x.mean({2, 3}).view({x.size(0), c.nodes, -1}).transpose(0, 1);
}

// [K, B, features] from images or sequences. Samples shared by all nodes are repeated without a
// copy.
Tensor by_node(const Context& c, const Tensor& x) {
  if (c.layer.in.size() != 3) return x.flatten(2);
  const std::int64_t channels = c.layer.in[0];
  return x.reshape({x.size(0), x.size(1) / channels, -1}).transpose(0, 1).expand({c.nodes, -1, -1});
}

Tensor apply(const Linear&, const Context& c, const Tensor& x) {
  return torch::baddbmm(c.parameter(1).unsqueeze(1), by_node(c, x), c.parameter(0).transpose(1, 2));
}

// Rows of [K, count, width] chosen by [B, K, ...]: one table of K count rows, node k's beginning at
// k count.
Tensor rows_of(const Tensor& table, const Tensor& chosen) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(chosen.dim()), 1);
  shape[1] = table.size(0);
  const Tensor start =
      torch::arange(table.size(0), chosen.options()).mul_(table.size(1)).view(shape);
  return torch::embedding(table.flatten(0, 1), chosen + start);
}

Tensor apply(const Embedding&, const Context& c, const Tensor& x) {
  return rows_of(c.parameter(0), x).transpose(0, 1);
}

Tensor apply(const Factorization&, const Context& c, const Tensor& x) {
  const Tensor users = rows_of(c.parameter(0), x.select(2, 0));
  const Tensor items = rows_of(c.parameter(1), x.select(2, 1));
  return (users * items).sum(2, /*keepdim=*/true).transpose(0, 1);
}

// One level over a whole sequence x [K, B, T, inputs]. The gates stand in PyTorch's order: input,
// forget, cell, output. The inputs' share of all T gates is one product.
Tensor lstm_level(const Tensor& x, const Tensor* weights) {
  const Tensor &from_input = weights[0], &from_state = weights[1];
  const Tensor bias = (weights[2] + weights[3]).unsqueeze(1);
  const std::int64_t nodes = from_input.size(0), batch = x.size(1), length = x.size(2);
  const Tensor shares = torch::baddbmm(bias, x.reshape({nodes, batch * length, x.size(3)}),
                                       from_input.transpose(1, 2))
                            .view({nodes, batch, length, from_input.size(1)});
  const Tensor recurrent = from_state.transpose(1, 2);
  Tensor state = torch::zeros({nodes, batch, from_state.size(2)}, x.options());
  Tensor cell = state;
  std::vector<Tensor> states;
  for (const Tensor& share : shares.unbind(2)) {
    const std::vector<Tensor> gates = torch::baddbmm(share, state, recurrent).chunk(4, 2);
    cell = torch::sigmoid(gates[1]) * cell + torch::sigmoid(gates[0]) * torch::tanh(gates[2]);
    state = torch::sigmoid(gates[3]) * torch::tanh(cell);
    states.push_back(state);
  }
  return torch::stack(states, 2);
}

Tensor apply(const Lstm& lstm, const Context& c, Tensor x) {
  for (std::size_t level = 0; level < lstm.levels; ++level)
    x = lstm_level(x, &c.parameter(4 * level));
  return x;
}

Tensor run(const std::vector<Layer>& layers, const Parameters& parameters, Tensor x);

Tensor apply(const Residual& residual, const Context& c, const Tensor& x) {
  return run(residual.body, c.parameters, x) +
         (residual.shortcut.empty() ? x : run(residual.shortcut, c.parameters, x));
}

Tensor run(const std::vector<Layer>& layers, const Parameters& parameters, Tensor x) {
  const std::int64_t nodes = parameters.front().size(0);
  for (const Layer& layer : layers) {
    const Context context{layer, parameters, nodes};
    x = std::visit([&](const auto& kind) { return apply(kind, context, x); }, layer.kind);
  }
  return x;
}

}  // namespace

Tensor forward(const Model& model, const Parameters& parameters, const Tensor& features) {
  if (model.task.kind != Task::Kind::kImages)
    return run(model.layers, parameters, features.to(torch::kInt64));
  const auto& shape = model.task.shape;
  return run(model.layers, parameters,
             features.reshape({features.size(0), features.size(1) * shape[0], shape[1], shape[2]}));
}

Tensor losses(const Model& model, const Tensor& outputs, const Tensor& targets) {
  const Tensor wanted = targets.t().expand({outputs.size(0), -1});
  if (model.task.classes == 0) return (outputs.squeeze(2) - wanted).square();
  const Tensor classes = wanted.to(torch::kInt64).unsqueeze(2);
  return -torch::log_softmax(outputs, 2).gather(2, classes).squeeze(2);
}

Parameters split(const Model& model, const Tensor& rows) {
  Parameters parameters;
  for (const Parameter& parameter : model.parameters) {
    std::vector<std::int64_t> shape = parameter.shape;
    shape.insert(shape.begin(), rows.size(0));
    const Tensor piece = rows.narrow(1, static_cast<std::int64_t>(parameter.offset),
                                     static_cast<std::int64_t>(parameter.size));
    parameters.push_back(torch::empty(shape, rows.options()));
    parameters.back().copy_(piece.view(shape));
  }
  return parameters;
}

void join(const Model& model, const Parameters& parameters, Tensor& rows) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = model.parameters[i];
    rows.narrow(1, static_cast<std::int64_t>(parameter.offset),
                static_cast<std::int64_t>(parameter.size))
        .copy_(parameters[i].flatten(1));
  }
}

}  // namespace tessera::stacked
