#include "learn/model.h"

#include <cmath>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

double draw(Initial initial, Random& random) {
  switch (initial.kind) {
    case Initial::Kind::kUniform:
      return initial.value * (2 * random.uniform() - 1);
    case Initial::Kind::kNormal:
      return initial.value * random.normal();
    case Initial::Kind::kConstant:
      break;
  }
  return initial.value;
}

}  // namespace

std::size_t Model::dimension() const {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().size;
}

std::vector<std::uint32_t> Model::tensors() const {
  std::vector<std::uint32_t> lengths;
  for (const Parameter& parameter : parameters)
    lengths.push_back(static_cast<std::uint32_t>(parameter.size));
  return lengths;
}

Vector initial_parameters(const Model& model, const Random& random) {
  Vector flat(model.dimension());
  for (const Parameter& parameter : model.parameters) {
    Random own = random.fork(parameter.name);
    for (float& value : std::span(flat).subspan(parameter.offset, parameter.size))
      value = static_cast<float>(draw(parameter.initial, own));
  }
  return flat;
}

ModelBuilder::ModelBuilder(std::string name, const Task& task) : shape_(task.shape) {
  model_.name = std::move(name);
  model_.task = task;
}

// What comes in and where the parameters begin is noted before `add` changes both.
template <typename Add>
ModelBuilder& ModelBuilder::append(Add add) {
  Layer layer{.in = shape_, .first_parameter = model_.parameters.size()};
  layer.kind = add();
  layers_.push_back(std::move(layer));
  return *this;
}

std::vector<Layer> ModelBuilder::branch(const std::function<void()>& add) {
  std::vector<Layer> outside = std::exchange(layers_, {});
  add();
  return std::exchange(layers_, std::move(outside));
}

void ModelBuilder::parameter(std::string name, std::vector<std::int64_t> shape, Initial initial) {
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  model_.parameters.push_back(
      {std::move(name), std::move(shape), model_.dimension(), size, initial});
}

ModelBuilder& ModelBuilder::convolution(std::string_view name, std::uint32_t outputs,
                                        std::uint32_t kernel, std::uint32_t stride) {
  return append([&] {
    return add_convolution(*this, name, {.outputs = outputs, .kernel = kernel, .stride = stride});
  });
}

ModelBuilder& ModelBuilder::he_normal() {
  CHECK(std::holds_alternative<Convolution>(layers_.back().kind));
  Parameter& weight = model_.parameters[layers_.back().first_parameter];
  const auto reached = static_cast<double>(weight.shape[0] * weight.shape[2] * weight.shape[3]);
  weight.initial = normal(std::sqrt(2 / reached));
  model_.parameters[layers_.back().first_parameter + 1].initial = constant(0);
  return *this;
}

ModelBuilder& ModelBuilder::group_norm(std::string_view name, std::uint32_t groups) {
  return append([&] { return add_group_norm(*this, name, groups); });
}

ModelBuilder& ModelBuilder::relu() {
  return append([] { return Relu(); });
}

ModelBuilder& ModelBuilder::max_pool() {
  return append([&] { return add_max_pool(*this); });
}

ModelBuilder& ModelBuilder::mean_pool() {
  return append([&] { return add_mean_pool(*this); });
}

ModelBuilder& ModelBuilder::linear(std::string_view name, std::uint32_t outputs) {
  return append([&] { return add_linear(*this, name, outputs); });
}

ModelBuilder& ModelBuilder::embedding(std::string_view name, std::uint32_t rows,
                                      std::uint32_t width) {
  return append([&] { return add_embedding(*this, name, {.rows = rows, .width = width}); });
}

ModelBuilder& ModelBuilder::lstm(std::string_view name, std::uint32_t units, std::uint32_t levels) {
  return append([&] { return add_lstm(*this, name, {.units = units, .levels = levels}); });
}

ModelBuilder& ModelBuilder::factorization(std::uint32_t users, std::uint32_t items,
                                          std::uint32_t width) {
  return append(
      [&] { return add_factorization(*this, {.users = users, .items = items, .width = width}); });
}

ModelBuilder& ModelBuilder::residual_block(std::string_view name, const ResidualBlock& block) {
  append([&] { return add_residual(*this, name, block); });
  return relu();
}

Model ModelBuilder::done() {
  CHECK(shape_.size() == 1);
  model_.outputs = shape_[0];
  model_.layers = std::move(layers_);
  return std::move(model_);
}

}  // namespace tessera
