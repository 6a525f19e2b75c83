// What a model is, as plain data: a list of layers and the list of its parameters. A node's model
// is one flat vector of floats; every parameter is a row-major piece of it, in the order of
// PyTorch's state_dict, so that the vector of the same torch.nn module is the same vector. The list
// is read by three interpreters: the stacked layers (LibTorch, K nodes at once, any device), the
// hand-written convolutional net (one node, CPU) and the exporter. None of the models listed here
// has buffers; what TorchScript modules do with theirs is said in torchscript.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "data/dataset.h"

namespace tessera {

// PyTorch's default initialisations come down to these. A convolution's or linear layer's
// kaiming_uniform(a = sqrt 5) is uniform in +-1/sqrt(fan_in), its bias too.
struct Initial {
  enum class Kind { kUniform, kNormal, kConstant };
  Kind kind = Kind::kConstant;
  double value = 0;  // The bound of the uniform, the deviation of the normal, or the constant.
};

struct Parameter {
  std::string name{};  // As in PyTorch: "conv1.weight".
  std::vector<std::int64_t> shape{};
  std::size_t offset = 0;  // Of its first element in the flat vector.
  std::size_t size = 0;
  Initial initial{};
};

struct Layer {
  enum class Kind {
    kConvolution,    // `outputs` channels, square `kernel`, zero padding kernel/2, `stride`.
    kGroupNorm,      // `groups` groups of channels.
    kRelu,           //
    kMaxPool,        // 2x2, stride 2; a last odd row or column is dropped.
    kMeanPool,       // Each channel becomes its mean.
    kLinear,         // Flattens what comes in, channels first.
    kEmbedding,      // Whole numbers below `inputs` become vectors of `outputs`.
    kLstm,           // `groups` layers of `outputs` units over a sequence; yields all outputs.
    kFactorization,  // (user, item) becomes the dot product of two rows of `outputs` numbers.
    kResidual,       // body(x) + shortcut(x).
  };
  Kind kind = Kind::kRelu;
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::uint32_t kernel = 0;
  std::uint32_t stride = 1;
  std::uint32_t groups = 0;
  std::vector<std::uint32_t> in{};  // The shape of one sample as it comes in.
  std::size_t first_parameter = 0;  // In Model::parameters; a layer's own follow one another.
  std::vector<Layer> body{};        // Residual only.
  std::vector<Layer> shortcut{};    // Residual only; empty adds x itself.
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
  ModelBuilder& group_norm(std::string_view name, std::uint32_t groups);
  ModelBuilder& relu();
  ModelBuilder& max_pool();
  ModelBuilder& mean_pool();
  ModelBuilder& linear(std::string_view name, std::uint32_t outputs);
  ModelBuilder& embedding(std::string_view name, std::uint32_t rows, std::uint32_t width);
  ModelBuilder& lstm(std::string_view name, std::uint32_t units, std::uint32_t layers);
  ModelBuilder& factorization(std::uint32_t users, std::uint32_t items, std::uint32_t width);
  // conv-norm-relu-conv-norm plus x, or plus conv1x1-norm of x where the shape changes, then relu.
  ModelBuilder& residual_block(std::string_view name, std::uint32_t outputs, std::uint32_t stride,
                               std::uint32_t groups);
  Model done();

 private:
  Layer& append(Layer::Kind kind);
  void parameter(std::string name, std::vector<std::int64_t> shape, Initial initial);

  Model model_;
  std::vector<std::uint32_t> shape_;
  std::vector<Layer>* target_;  // Where layers go: the model's list, or a residual's branch.
};

}  // namespace tessera
