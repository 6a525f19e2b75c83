#include "learn/model.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

Initial uniform(double bound) {
  return {Initial::Kind::kUniform, bound};
}
Initial constant(double value) {
  return {Initial::Kind::kConstant, value};
}

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

ModelBuilder::ModelBuilder(std::string name, const Task& task)
    : shape_(task.shape), target_(&model_.layers) {
  model_.name = std::move(name);
  model_.task = task;
}

Layer& ModelBuilder::append(Layer::Kind kind) {
  Layer& layer = target_->emplace_back();
  layer.kind = kind;
  layer.in = shape_;
  layer.first_parameter = model_.parameters.size();
  return layer;
}

void ModelBuilder::parameter(std::string name, std::vector<std::int64_t> shape, Initial initial) {
  std::size_t size = 1;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  model_.parameters.push_back(
      {std::move(name), std::move(shape), model_.dimension(), size, initial});
}

ModelBuilder& ModelBuilder::convolution(std::string_view name, std::uint32_t outputs,
                                        std::uint32_t kernel, std::uint32_t stride) {
  CHECK(shape_.size() == 3);
  CHECK(kernel % 2 == 1);
  Layer& layer = append(Layer::Kind::kConvolution);
  layer.inputs = shape_[0];
  layer.outputs = outputs;
  layer.kernel = kernel;
  layer.stride = stride;
  const Initial initial = uniform(1 / std::sqrt(double{1} * shape_[0] * kernel * kernel));
  parameter(fmt::format("{}.weight", name), {outputs, shape_[0], kernel, kernel}, initial);
  parameter(fmt::format("{}.bias", name), {outputs}, initial);
  shape_ = {outputs, (shape_[1] + stride - 1) / stride, (shape_[2] + stride - 1) / stride};
  return *this;
}

ModelBuilder& ModelBuilder::group_norm(std::string_view name, std::uint32_t groups) {
  CHECK(shape_.size() == 3);
  CHECK(shape_[0] % groups == 0);
  Layer& layer = append(Layer::Kind::kGroupNorm);
  layer.inputs = layer.outputs = shape_[0];
  layer.groups = groups;
  parameter(fmt::format("{}.weight", name), {shape_[0]}, constant(1));
  parameter(fmt::format("{}.bias", name), {shape_[0]}, constant(0));
  return *this;
}

ModelBuilder& ModelBuilder::relu() {
  append(Layer::Kind::kRelu);
  return *this;
}

ModelBuilder& ModelBuilder::max_pool() {
  CHECK(shape_.size() == 3);
  append(Layer::Kind::kMaxPool);
  shape_ = {shape_[0], shape_[1] / 2, shape_[2] / 2};
  return *this;
}

ModelBuilder& ModelBuilder::mean_pool() {
  CHECK(shape_.size() == 3);
  append(Layer::Kind::kMeanPool);
  shape_ = {shape_[0]};
  return *this;
}

ModelBuilder& ModelBuilder::linear(std::string_view name, std::uint32_t outputs) {
  Layer& layer = append(Layer::Kind::kLinear);
  layer.inputs = 1;
  for (const std::uint32_t extent : shape_) layer.inputs *= extent;
  layer.outputs = outputs;
  const Initial initial = uniform(1 / std::sqrt(double{1} * layer.inputs));
  parameter(fmt::format("{}.weight", name), {outputs, layer.inputs}, initial);
  parameter(fmt::format("{}.bias", name), {outputs}, initial);
  shape_ = {outputs};
  return *this;
}

ModelBuilder& ModelBuilder::embedding(std::string_view name, std::uint32_t rows,
                                      std::uint32_t width) {
  CHECK(shape_.size() == 1);
  Layer& layer = append(Layer::Kind::kEmbedding);
  layer.inputs = rows;
  layer.outputs = width;
  parameter(fmt::format("{}.weight", name), {rows, width}, {Initial::Kind::kNormal, 1});
  shape_.push_back(width);
  return *this;
}

ModelBuilder& ModelBuilder::lstm(std::string_view name, std::uint32_t units, std::uint32_t layers) {
  CHECK(shape_.size() == 2);
  Layer& layer = append(Layer::Kind::kLstm);
  layer.inputs = shape_[1];
  layer.outputs = units;
  layer.groups = layers;
  const Initial initial = uniform(1 / std::sqrt(double{1} * units));
  for (std::uint32_t level = 0; level < layers; ++level) {
    const std::uint32_t inputs = level == 0 ? shape_[1] : units;
    parameter(fmt::format("{}.weight_ih_l{}", name, level), {4 * units, inputs}, initial);
    parameter(fmt::format("{}.weight_hh_l{}", name, level), {4 * units, units}, initial);
    parameter(fmt::format("{}.bias_ih_l{}", name, level), {4 * units}, initial);
    parameter(fmt::format("{}.bias_hh_l{}", name, level), {4 * units}, initial);
  }
  shape_[1] = units;
  return *this;
}

ModelBuilder& ModelBuilder::factorization(std::uint32_t users, std::uint32_t items,
                                          std::uint32_t width) {
  Layer& layer = append(Layer::Kind::kFactorization);
  layer.inputs = users;
  layer.outputs = width;
  parameter("user_factors.weight", {users, width}, uniform(0.05));
  parameter("item_factors.weight", {items, width}, uniform(0.05));
  shape_ = {1};
  return *this;
}

ModelBuilder& ModelBuilder::residual_block(std::string_view name, std::uint32_t outputs,
                                           std::uint32_t stride, std::uint32_t groups) {
  Layer block;
  block.kind = Layer::Kind::kResidual;
  block.in = shape_;
  block.first_parameter = model_.parameters.size();
  std::vector<Layer>* const outside = std::exchange(target_, &block.body);
  convolution(fmt::format("{}.conv1", name), outputs, 3, stride);
  group_norm(fmt::format("{}.gn1", name), groups).relu();
  convolution(fmt::format("{}.conv2", name), outputs, 3);
  group_norm(fmt::format("{}.gn2", name), groups);
  if (shape_ != block.in) {
    const std::vector<std::uint32_t> after = std::exchange(shape_, block.in);
    target_ = &block.shortcut;
    convolution(fmt::format("{}.shortcut.0", name), outputs, 1, stride);
    group_norm(fmt::format("{}.shortcut.1", name), groups);
    CHECK(shape_ == after);
  }
  target_ = outside;
  target_->push_back(std::move(block));
  return relu();
}

Model ModelBuilder::done() {
  CHECK(shape_.size() == 1);
  model_.outputs = shape_[0];
  return std::move(model_);
}

}  // namespace tessera
