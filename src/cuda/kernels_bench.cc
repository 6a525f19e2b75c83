#include "cuda/kernels_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cuda/net.h"
#include "cuda/optimizer_kernels.h"
#include "learn/models.h"
#include "learn/score.h"

namespace tessera::cuda {
namespace {

// Numbers between -1 and 1 to work on.
DeviceArray<float> numbers(const KernelTable& table, std::size_t count) {
  DeviceArray<float> made(count);
  fill(table.stream, made, 1);
  return made;
}

template <typename T>
DeviceArray<T> sent(const std::vector<T>& values) {
  DeviceArray<T> memory(values.size());
  upload_now(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

std::size_t size(int count) {
  return static_cast<std::size_t>(count);
}

Pass pass_of(const KernelTable& table, int nodes, int batch) {
  return {.stream = table.stream.get(), .nodes = nodes, .batch = batch};
}

void bench_linear(KernelTable& table, int nodes, int batch, const LinearShape& shape) {
  const std::size_t rows = size(nodes * batch), inputs = size(shape.inputs),
                    outputs = size(shape.outputs), weights = inputs * outputs,
                    dimension = weights + (outputs + 3) / 4 * 4;
  const DeviceArray<float> parameters = numbers(table, size(nodes) * dimension),
                           in = numbers(table, rows * inputs), out(rows * outputs),
                           d_out = numbers(table, rows * outputs), d_in(rows * inputs),
                           d_weights(size(nodes) * weights), d_bias(size(nodes) * outputs);
  Pass pass = pass_of(table, nodes, batch);
  pass.parameters = parameters.data();
  pass.dimension = dimension;
  const Rows samples{.data = in.data(), .width = inputs};
  const double of_weights = 1.0 * nodes * static_cast<double>(weights),
               of_ins = static_cast<double>(rows * inputs),
               of_outs = static_cast<double>(rows * outputs), flops = 2.0 * batch * of_weights;
  const std::string name = fmt::format("{} to {}, batch {}", shape.inputs, shape.outputs, batch);
  table.row(name + ": linear", Precision::kFp32, {flops, floats(of_weights + of_ins + of_outs)},
            [&] { linear(pass, shape, samples, 0, weights, out.data()); });
  table.row(name + ": gradients", Precision::kFp32,
            {2 * flops, floats(2 * of_weights + 2 * of_ins + of_outs)}, [&] {
              linear_gradient(pass, shape, samples, 0, out.data(), d_out.data(), d_in.data(),
                              {d_weights.data(), d_bias.data()});
            });
}

// Samples of a batch or an evaluation, one after the other, whose targets are all 0.
struct Samples {
  Samples(int nodes, int batch, int width)
      : rows(size(nodes * batch)),
        targets(sent(Vector(rows))),
        weights(sent(Vector(rows, 1.0f / static_cast<float>(batch)))),
        counted(sent(std::vector<std::uint8_t>(rows, 1))),
        d_outputs(rows * size(width)),
        losses(sent(Vector(size(nodes)))),
        sums(sent(std::vector<double>(3 * size(nodes)))) {
    std::vector<std::uint32_t> in_order(rows);
    for (std::size_t i = 0; i < rows; ++i) in_order[i] = static_cast<std::uint32_t>(i);
    chosen = sent(in_order);
  }
  std::size_t rows;
  DeviceArray<std::uint32_t> chosen{};
  DeviceArray<float> targets, weights;
  DeviceArray<std::uint8_t> counted;
  DeviceArray<float> d_outputs, losses;
  DeviceArray<double> sums;
};

void bench_loss(KernelTable& table, int nodes, int batch, int classes) {
  const int width = std::max(1, classes);
  const Samples samples(nodes, batch, width);
  const DeviceArray<float> outputs = numbers(table, samples.rows * size(width));
  const auto rows = static_cast<double>(samples.rows);
  const LossInputs inputs{.classes = classes,
                          .targets = samples.targets.data(),
                          .chosen = samples.chosen.data(),
                          .weights = samples.weights.data()};
  const std::string what = classes > 0 ? fmt::format("{} classes", classes) : "ratings";
  table.row(fmt::format("{}, batch {}: loss", what, batch), Precision::kFp32,
            {0, floats(rows * (2 * width + 3))}, [&] {
              loss_and_gradient(pass_of(table, nodes, batch), inputs, outputs.data(),
                                samples.d_outputs.data(), samples.losses.data());
            });
}

void bench_scores(KernelTable& table, int nodes, int batch, int classes) {
  const int width = std::max(1, classes);
  const Samples samples(nodes, batch, width);
  const DeviceArray<float> outputs = numbers(table, samples.rows * size(width));
  const auto rows = static_cast<double>(samples.rows);
  const ScoreInputs inputs{.classes = classes,
                           .targets = samples.targets.data(),
                           .chosen = samples.chosen.data(),
                           .counted = samples.counted.data(),
                           .chosen_stride = size(batch),
                           .ratings = {kLowestRating, kHighestRating, kRatingTolerance}};
  const std::string what = classes > 0 ? fmt::format("{} classes", classes) : "ratings";
  table.row(fmt::format("{}, batch {}: scores", what, batch), Precision::kFp32,
            {0, floats(rows * (width + 2)) + rows}, [&] {
              add_scores(pass_of(table, nodes, batch), inputs, outputs.data(), samples.sums.data());
            });
}

// Images on their way through a residual block, a mean over pixels, and flips and crops.
void bench_rows(KernelTable& table, int nodes, int batch) {
  constexpr int kSide = 32, kWidth = kSide * kSide * 16, kPixels = 64, kChannels = 64;
  const Pass pass = pass_of(table, nodes, batch);
  const std::size_t rows = size(nodes * batch);
  const DeviceArray<float> a = numbers(table, rows * kWidth), b = numbers(table, rows * kWidth),
                           out(rows * kWidth);
  const auto row = [&](const char* name, double numbers_moved, const std::function<void()>& run) {
    table.row(name, Precision::kFp32, {0, floats(static_cast<double>(rows) * numbers_moved)}, run);
  };
  row("32x32, 16: residual's sum, ReLU", 3.0 * kWidth,
      [&] { add_rows(pass, kWidth, a.data(), b.data(), true, out.data()); });
  row("32x32, 16: residual's mask", 2.0 * kWidth,
      [&] { mask_rows(pass, kWidth, a.data(), out.data()); });
  row("32x32, 16: residual's copy", 2.0 * kWidth,
      [&] { copy_rows(pass, kWidth, a.data(), out.data()); });
  row("8x8, 64: mean over pixels", 1.0 * (kPixels + 1) * kChannels,
      [&] { mean_pool(pass, kPixels, kChannels, a.data(), out.data()); });
  row("8x8, 64: its gradient", 1.0 * (kPixels + 1) * kChannels,
      [&] { mean_pool_gradient(pass, kPixels, kChannels, a.data(), out.data()); });
  const ImageShape image{.height = kSide, .width = kSide, .channels = 3};
  const auto moves = sent(std::vector<ImageMove>(rows, {.down = 1, .right = -2, .flipped = true}));
  row("32x32, 3: flips and crops", 2.0 * kSide * kSide * 3, [&] {
    move_images(pass, image, {.data = a.data(), .width = kSide * kSide * 3}, moves.data(),
                out.data());
  });
}

// A step of GN-LeNet's parameters, with its gradients in one part, and their way between PyTorch's
// order and ours.
void bench_parameters(KernelTable& table, int nodes) {
  const Task task{.kind = Task::Kind::kImages, .shape = {3, 32, 32}, .classes = 10};
  const Model model = build_model("gn-lenet", task);
  const CudaNet net(model, {.nodes = size(nodes), .batch = 8});
  const std::size_t dimension = net.dimension(), all = size(nodes) * dimension;
  const DeviceArray<float> parameters = numbers(table, all), d = numbers(table, all),
                           first = sent(Vector(all)), second = sent(Vector(all)),
                           flat = numbers(table, size(nodes) * model.dimension()),
                           scales(size(nodes));
  const auto rates = sent(std::vector<StepRates>(size(nodes), {.lr = 1e-6f, .adam = 1e-6f}));
  std::vector<Gradient> pieces;
  for (std::size_t at = 0; at < dimension; at += kDescentPiece)
    pieces.push_back({.first = at,
                      .size = std::min(kDescentPiece, dimension - at),
                      .parts = d.data() + at,
                      .node_stride = dimension,
                      .part_stride = dimension});
  const DeviceArray<Gradient> device_pieces = sent(pieces);
  const DeviceArray<double> squares(size(nodes) * pieces.size());
  const GradientList list{device_pieces.data(), static_cast<int>(pieces.size())};
  Pass pass = pass_of(table, nodes, 8);
  pass.dimension = dimension;
  const auto row = [&](const char* what, double moved, const std::function<void()>& run) {
    table.row(fmt::format("{} parameters: {}", dimension, what), Precision::kFp32,
              {0, floats(moved * static_cast<double>(all))}, run);
  };
  const auto step = [&](const char* what, double moved, Descent descent) {
    descent.rates = rates.data();
    row(what, moved, [&, descent] {
      descend(pass, descent, list, nullptr, parameters.data(), {first.data(), second.data()});
    });
  };
  step("SGD", 3, {});
  step("momentum", 5, {.momentum = 0.9f});
  step("Adam", 7,
       {.adam = true,
        .beta1 = 0.9f,
        .rest1 = 0.1f,
        .beta2 = 0.999f,
        .rest2 = 0.001f,
        .epsilon = 1e-8f});
  row("clipping", 1, [&] { clip_scales(pass, 1, list, squares.data(), scales.data()); });
  row("gather", 2, [&] { net.arrange(table.stream, size(nodes), flat.data(), parameters.data()); });
}

}  // namespace

void bench_plain_kernels(KernelTable& table, int nodes) {
  bench_linear(table, nodes, 8, {1024, 10});
  bench_linear(table, nodes, 16, {3136, 512, true});
  bench_linear(table, nodes, 16, {512, 62});
  bench_loss(table, nodes, 16, 62);
  bench_loss(table, nodes, 32, 0);
  bench_scores(table, nodes, 168, 10);
  bench_scores(table, nodes, 168, 0);
  bench_rows(table, nodes, 8);
  bench_parameters(table, nodes);
}

}  // namespace tessera::cuda
