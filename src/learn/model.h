// What a model is, as plain data: a list of layers and the list of its parameters. A node's model
// is one flat vector of floats; every parameter is a row-major piece of it, in the order of
// PyTorch's state_dict, so that the vector of the same torch.nn module is the same vector. The list
// is read by the CPU layers (cpu_chain.h), by the GPU's (cuda/layer.h) and, in torch/, by the
// stacked layers and the exporter. None of the models listed here has buffers; what TorchScript
// modules do with theirs is said in torch/torchscript.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "data/dataset.h"
#include "learn/layers/convolution.h"
#include "learn/layers/embedding.h"
#include "learn/layers/factorization.h"
#include "learn/layers/group_norm.h"
#include "learn/layers/linear.h"
#include "learn/layers/lstm.h"
#include "learn/layers/max_pool.h"
#include "learn/layers/mean_pool.h"
#include "learn/layers/relu.h"
#include "learn/layers/residual.h"

namespace tessera {

// PyTorch's default initialisations come down to these. A convolution's or linear layer's
// kaiming_uniform(a = sqrt 5) is uniform in +-1/sqrt(fan_in), its bias too.
struct Initial {
  enum class Kind { kUniform, kNormal, kConstant };
  Kind kind = Kind::kConstant;
  double value = 0;  // The bound of the uniform, the deviation of the normal, or
                     // the constant.
};
inline Initial uniform(double bound) {
  return {Initial::Kind::kUniform, bound};
}
inline Initial normal(double deviation) {
  return {Initial::Kind::kNormal, deviation};
}
inline Initial constant(double value) {
  return {Initial::Kind::kConstant, value};
}

struct Parameter {
  std::string name{};  // As in PyTorch: "conv1.weight".
  std::vector<std::int64_t> shape{};
  std::size_t offset = 0;  // Of its first element in the flat vector.
  std::size_t size = 0;
  Initial initial{};
};

// A layer as plain data. What a kind of layer is, and how it works on the CPU, is in its own file.
struct Layer {
  std::variant<Convolution, GroupNorm, Relu, MaxPool, MeanPool, Linear, Embedding, Lstm,
               Factorization, Residual>
      kind{};
  std::vector<std::uint32_t> in{};  // The shape of one sample as it comes in.
  std::size_t first_parameter = 0;  // In Model::parameters; a layer's own follow one another.
};

struct Model {
  std::string name{};
  Task task{};
  std::vector<Layer> layers{};
  std::vector<Parameter> parameters{};
  std::uint32_t outputs = 0;  // Numbers per sample: one per class, or one.

  std::size_t dimension() const;
  std::vector<std::uint32_t> tensors() const;  // How long each parameter is, in order.
};

// Each parameter draws from a fork of its own name: the same bits on every machine, whatever else
// is drawn.
Vector initial_parameters(const Model& model, const Random& random);

// Builds a model layer by layer; each call appends to what the last one left.
class ModelBuilder {
 public:
  ModelBuilder(std::string name, const Task& task);

  ModelBuilder& convolution(std::string_view name, std::uint32_t outputs, std::uint32_t kernel,
                            std::uint32_t stride = 1);
  // The convolution just added begins as He et al. (2015) have it: normal, with a variance of two
  // over what one input reaches, and biases of zero.
  ModelBuilder& he_normal();
  ModelBuilder& group_norm(std::string_view name, std::uint32_t groups);
  ModelBuilder& relu();
  ModelBuilder& max_pool();
  ModelBuilder& mean_pool();
  ModelBuilder& linear(std::string_view name, std::uint32_t outputs);
  ModelBuilder& embedding(std::string_view name, std::uint32_t rows, std::uint32_t width);
  ModelBuilder& lstm(std::string_view name, std::uint32_t units, std::uint32_t layers);
  ModelBuilder& factorization(std::uint32_t users, std::uint32_t items, std::uint32_t width);
  // A residual (residual.h), then relu.
  ModelBuilder& residual_block(std::string_view name, const ResidualBlock& block);
  Model done();

  // For the layers' own files: what comes in and, once a layer is added, goes out.
  const std::vector<std::uint32_t>& shape() const { return shape_; }
  void reshape(std::vector<std::uint32_t> shape) { shape_ = std::move(shape); }
  void parameter(std::string name, std::vector<std::int64_t> shape, Initial initial);
  // What `add` appends goes into a list of its own.
  std::vector<Layer> branch(const std::function<void()>& add);

 private:
  template <typename Add>
  ModelBuilder& append(Add add);

  Model model_;
  std::vector<std::uint32_t> shape_;
  std::vector<Layer> layers_;
};

}  // namespace tessera
