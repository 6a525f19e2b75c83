#include "learn/models.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <string>

#include "base/check.h"
#include "base/table.h"
#include "learn/quadratic.h"

namespace tessera {
namespace {

std::string describe(const Task& task) {
  std::string shape;
  for (const std::uint32_t extent : task.shape)
    shape += fmt::format("{}{}", shape.empty() ? "" : "x", extent);
  switch (task.kind) {
    case Task::Kind::kImages:
      return fmt::format("{} images of {} classes", shape, task.classes);
    case Task::Kind::kTokens:
      return fmt::format("sequences of {} tokens out of {}", shape, task.vocabulary);
    case Task::Kind::kRatings:
      break;
  }
  return fmt::format("ratings by {} users of {} items", task.users, task.items);
}

void require(bool fits, const Options& options, const Task& task, std::string_view wants) {
  if (fits) return;
  throw std::invalid_argument(
      fmt::format("model {} wants {}, but the data has {}; see `tessera "
                  "list models` for one that fits",
                  options.name(), wants, describe(task)));
}

// Images large enough to be halved `halvings` times, with classes to tell apart.
void require_images(const Options& options, const Task& task, std::uint32_t halvings) {
  const std::uint32_t least = 1u << halvings;
  const bool fits = task.kind == Task::Kind::kImages && task.shape.size() == 3 &&
                    task.classes >= 2 && task.shape[1] >= least && task.shape[2] >= least;
  require(fits, options, task,
          fmt::format("images of at least {0}x{0} pixels and two classes", least));
}

Model gn_lenet(const Task& task, Options& options) {
  require_images(options, task, 3);
  ModelBuilder build("gn-lenet", task);
  constexpr std::array<std::uint32_t, 3> kChannels = {32, 32, 64};
  for (std::size_t i = 0; i < kChannels.size(); ++i)
    build.convolution(fmt::format("conv{}", i + 1), kChannels[i], 5)
        .group_norm(fmt::format("gn{}", i + 1), 2)
        .relu()
        .max_pool();
  return build.linear("fc1", task.classes).done();
}

Model celeba_cnn(const Task& task, Options& options) {
  require_images(options, task, 4);
  ModelBuilder build("celeba-cnn", task);
  for (int i = 1; i <= 4; ++i) build.convolution(fmt::format("conv{}", i), 32, 3).max_pool().relu();
  return build.linear("fc1", task.classes).done();
}

Model femnist_cnn(const Task& task, Options& options) {
  require_images(options, task, 2);
  return ModelBuilder("femnist-cnn", task)
      .convolution("conv1", 32, 5)
      .relu()
      .max_pool()
      .convolution("conv2", 64, 5)
      .relu()
      .max_pool()
      .linear("fc1", 512)
      .relu()
      .linear("fc2", task.classes)
      .done();
}

Model cnn28(const Task& task, Options& options) {
  require_images(options, task, 2);
  return ModelBuilder("cnn28", task)
      .convolution("conv1", 16, 5)
      .relu()
      .max_pool()
      .convolution("conv2", 32, 5)
      .relu()
      .max_pool()
      .linear("fc1", task.classes)
      .done();
}

Model resnet8(const Task& task, Options& options) {
  require_images(options, task, 2);
  const auto groups = static_cast<std::uint32_t>(options.integer("groups", 4, between(1, 16)));
  if (16 % groups != 0) options.refuse("groups", fmt::format("{} must divide 16", groups));
  return ModelBuilder("resnet8", task)
      .convolution("conv1", 16, 3)
      .group_norm("gn1", groups)
      .relu()
      .residual_block("block1", {.outputs = 16, .stride = 1, .groups = groups})
      .residual_block("block2", {.outputs = 32, .stride = 2, .groups = groups})
      .residual_block("block3", {.outputs = 64, .stride = 2, .groups = groups})
      .mean_pool()
      .linear("fc", task.classes)
      .done();
}

// VGG's configuration A for 32x32 images, as epfml/relaysgd has it, without the dropout there
// before the first two linear layers. Named after that code's places, which count ReLUs, poolings
// and dropouts.
Model vgg11(const Task& task, Options& options) {
  require_images(options, task, 5);
  struct Stage {
    std::uint32_t channels;
    int convolutions;
  };
  constexpr std::array<Stage, 5> kStages = {{{64, 1}, {128, 1}, {256, 2}, {512, 2}, {512, 2}}};
  ModelBuilder build("vgg11", task);
  int place = 0;
  for (const Stage& stage : kStages) {
    for (int i = 0; i < stage.convolutions; ++i, place += 2)
      build.convolution(fmt::format("features.{}", place), stage.channels, 3).he_normal().relu();
    build.max_pool();
    ++place;
  }
  return build.linear("classifier.1", 512)
      .relu()
      .linear("classifier.4", 512)
      .relu()
      .linear("classifier.6", task.classes)
      .done();
}

Model logistic(const Task& task, Options& options) {
  require_images(options, task, 0);
  return ModelBuilder("logistic", task).linear("fc", task.classes).done();
}

Model mlp(const Task& task, Options& options) {
  require_images(options, task, 0);
  const std::vector<double> widths = options.numbers("hidden", {128}, between(1, 65536));
  ModelBuilder build("mlp", task);
  std::size_t number = 1;
  for (const double width : widths) {
    const auto whole = static_cast<std::uint32_t>(width);
    if (whole != width) options.refuse("hidden", fmt::format("{} is not a whole number", width));
    build.linear(fmt::format("fc{}", number++), whole).relu();
  }
  return build.linear(fmt::format("fc{}", number), task.classes).done();
}

Model shakespeare_lstm(const Task& task, Options& options) {
  require(task.kind == Task::Kind::kTokens && task.classes >= 2 && task.vocabulary >= 2, options,
          task, "sequences of tokens");
  return ModelBuilder("lstm", task)
      .embedding("embedding", task.vocabulary, 8)
      .lstm("lstm", 256, 2)
      .relu()
      .linear("fc", task.classes)
      .done();
}

Model matrix_factorization(const Task& task, Options& options) {
  require(task.kind == Task::Kind::kRatings && task.users > 0 && task.items > 0, options, task,
          "ratings of items by users");
  const auto width = static_cast<std::uint32_t>(options.integer("factors", 20, between(1, 4096)));
  return ModelBuilder("matrix-factorization", task)
      .factorization(task.users, task.items, width)
      .done();
}

constexpr std::array kModels = {
    ModelKind{"gn-lenet", "gn-lenet",
              "three 5x5 convolutions with group norm, one linear layer "
              "(CIFAR-10: 89,834)",
              gn_lenet},
    ModelKind{"matrix-factorization", "matrix-factorization:factors=20",
              "dot product of a user's and an item's factors (MovieLens: 206,680)",
              matrix_factorization},
    ModelKind{"lstm", "lstm", "embedding, two LSTM layers of 256 (Shakespeare: 2,683,708)",
              shakespeare_lstm},
    ModelKind{"celeba-cnn", "celeba-cnn", "four 3x3 convolutions (CelebA: 30,242)", celeba_cnn},
    ModelKind{"femnist-cnn", "femnist-cnn",
              "two 5x5 convolutions, two linear layers (FEMNIST: 1,690,046)", femnist_cnn},
    ModelKind{"cnn28", "cnn28", "two small 5x5 convolutions, for 28x28 images (28,938)", cnn28},
    ModelKind{"resnet8", "resnet8:groups=4", "three residual blocks with group norm", resnet8},
    ModelKind{"vgg11", "vgg11", "eight 3x3 convolutions, three linear layers (CIFAR-10: 9,750,922)",
              vgg11},
    ModelKind{"mlp", "mlp:hidden=128/64", "linear layers with ReLU between", mlp},
    ModelKind{"logistic", "logistic", "one linear layer", logistic},
    ModelKind{.name = "quadratic",
              .usage = "quadratic:dimension=100,lr=0.1,noise=0.01,steps=1",
              .summary = "a toy that needs no data",
              .make = make_quadratic,
              .needs_data = false},
};

}  // namespace

std::span<const ModelKind> models() {
  return kModels;
}

Model build_model(const Spec& spec, const Task& task) {
  Options options(spec);
  const ModelKind& kind = require_entry(models(), "model", options.name());
  const auto* const build = std::get_if<BuildLayers>(&kind.make);
  CHECK(build != nullptr);
  Model model = (*build)(task, options);
  options.done();
  return model;
}

Model build_model(std::string_view spec, const Task& task) {
  return build_model(parse_spec(spec), task);
}

}  // namespace tessera
