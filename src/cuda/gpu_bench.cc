#include "cuda/gpu_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/backend.h"
#include "cuda/kernel_table.h"
#include "cuda/kernels_bench.h"
#include "cuda/net.h"
#include "cuda/pairs.h"
#include "learn/bench_images.h"
#include "learn/models.h"
#include "learn/stacked_bench.h"

namespace tessera {
namespace {

using cuda::ConvShape;
using cuda::DeviceArray;
using cuda::fill;
using cuda::floats;
using cuda::KernelTable;
using cuda::Pass;
using cuda::Precision;
using cuda::Work;

// One stage of GN-LeNet for many nodes: its convolution, what follows, and both ways back.
void bench_stage(KernelTable& table, int nodes, int batch, const ConvShape& shape,
                 Precision precision) {
  const double images = 1.0 * nodes * batch, out_pixels = shape.out_height() * shape.out_width();
  const auto count = [](double number) { return static_cast<std::size_t>(number); };
  const double ins = images * shape.height * shape.width * shape.inputs;
  const double outs = images * out_pixels * shape.outputs,
               weights = 1.0 * shape.rows() * shape.outputs;
  const std::size_t dimension = count(weights) + 3 * static_cast<std::size_t>(shape.outputs);
  const int parts = cuda::weight_parts(shape, batch);
  DeviceArray<float> parameters(dimension * static_cast<std::size_t>(nodes)), in(count(ins)),
      x(count(outs)), out(count(outs / 4)), d_out(count(outs / 4)), d_in(count(ins)),
      moments(count(4 * images)), sums(count(3 * images * shape.outputs)),
      d_weights(count(weights * nodes * parts));
  DeviceArray<std::uint8_t> winner(count(outs / 4));
  std::uint64_t seed = 1;
  for (const auto* array : {&parameters, &in, &x, &d_out}) fill(table.stream, *array, seed++);
  const Pass pass{.stream = table.stream.get(),
                  .nodes = nodes,
                  .batch = batch,
                  .parameters = parameters.data(),
                  .dimension = dimension,
                  .precision = precision};
  const cuda::Rows rows{.data = in.data(),
                        .width = count(1.0 * shape.height * shape.width * shape.inputs)};
  const std::size_t bias = count(weights), gamma = bias + static_cast<std::size_t>(shape.outputs),
                    beta = gamma + static_cast<std::size_t>(shape.outputs);
  const double flops = 2 * outs * shape.inputs * shape.kernel * shape.kernel;
  const std::string name =
      fmt::format("{}x{}, {} to {}", shape.height, shape.width, shape.inputs, shape.outputs);
  table.row(name + ": convolution", precision, {flops, floats(ins + outs + weights * nodes)},
            [&] { cuda::convolve(pass, shape, rows, 0, bias, x.data()); });
  const cuda::AfterShape after{.height = shape.out_height(),
                               .width = shape.out_width(),
                               .channels = shape.outputs,
                               .groups = 2,
                               .relu = true,
                               .pool = true};
  const cuda::AfterMemory memory{x.data(), out.data(), winner.data(), moments.data()};
  table.row(name + ": norm, ReLU, pool", precision, {0, floats(outs + outs / 4) + outs / 4},
            [&] { cuda::after_convolution(pass, after, memory, gamma, beta); });
  const std::size_t third = count(images * shape.outputs);
  table.row(name + ": their gradient", precision, {0, floats(2 * outs + outs / 4) + outs / 4}, [&] {
    cuda::after_convolution_gradient(pass, after, memory, gamma, d_out.data(),
                                     {sums.data(), sums.data() + third, sums.data() + 2 * third});
  });
  fill(table.stream, x, 9);
  if (!shape.by_rows())
    table.row(name + ": inputs' gradient", precision, {flops, floats(ins + outs + weights * nodes)},
              [&] { cuda::convolve_inputs(pass, shape, x.data(), 0, d_in.data()); });
  table.row(name + ": weights' gradient", precision, {flops, floats(ins + outs + weights * nodes)},
            [&] { cuda::convolve_weights(pass, shape, rows, x.data(), d_weights.data()); });
}

// Pairs of halves of `numbers`, with a unit for each of `units`.
struct PairArrays {
  PairArrays(std::size_t numbers, std::size_t units) : data(numbers), unit(units) {}
  cuda::Pairs pairs() const { return {data.data(), unit.data()}; }
  DeviceArray<float> data, unit;
};

// The convolutions of a stage as precision=3xf16 makes them, with what it takes to split numbers.
void bench_pairs(KernelTable& table, int nodes, int batch, const ConvShape& shape,
                 Precision precision) {
  const auto images = static_cast<std::size_t>(nodes * batch);
  const std::size_t in_width = static_cast<std::size_t>(shape.height * shape.width * shape.inputs),
                    out_width = static_cast<std::size_t>(shape.out_height() * shape.out_width() *
                                                         shape.outputs),
                    weights = static_cast<std::size_t>(shape.rows() * shape.outputs),
                    dimension = weights + static_cast<std::size_t>(shape.outputs),
                    parts = static_cast<std::size_t>(cuda::weight_parts(shape, batch)),
                    all = static_cast<std::size_t>(nodes);
  DeviceArray<float> parameters(dimension * all), in(in_width * images), x(out_width * images),
      d_weights(weights * all * parts), maxima(images),
      weight_maxima(static_cast<std::size_t>(cuda::weight_pieces(shape)) * all);
  const PairArrays ins(in_width * images, images), d_outs(out_width * images, images),
      split(std::max(weights, first_weights_size(shape)) * all, all),
      pixels(in_width / static_cast<std::size_t>(shape.inputs) * 4 * images, 1);
  std::uint64_t seed = 1;
  for (const auto* array : {&parameters, &in, &x}) fill(table.stream, *array, seed++);
  const Pass pass{table.stream.get(), nodes, batch, parameters.data(), dimension, precision};
  const double flops =
      2.0 * static_cast<double>(images * out_width) * shape.inputs * shape.kernel * shape.kernel;
  const double ins_bytes = floats(static_cast<double>(in_width * images)),
               outs_bytes = floats(static_cast<double>(out_width * images)),
               weights_bytes = floats(static_cast<double>(weights * all));
  const Work work{flops, ins_bytes + outs_bytes + weights_bytes};
  const std::string name =
      fmt::format("{}x{}, {} to {}", shape.height, shape.width, shape.inputs, shape.outputs);
  const auto row = [&](const char* what, const Work& least, const std::function<void()>& run) {
    table.row(name + what, precision, least, run);
  };
  fill(table.stream, maxima, seed);
  const cuda::Rows d_rows{.data = x.data(), .width = out_width, .maxima = maxima.data()};
  if (shape.by_rows()) {
    cuda::split_pixels(
        {pixels.data.size() / 4, shape.inputs, in.data(), pixels.data.data(), pixels.unit.data()});
    const cuda::PixelPairs rows{{.data = pixels.data.data(),
                                 .width = in_width / static_cast<std::size_t>(shape.inputs) * 4},
                                1};
    row(": weights split", {0, 2 * weights_bytes},
        [&] { cuda::split_first_weights(pass, shape, 0, split.pairs()); });
    row(": convolution", work,
        [&] { cuda::convolve_first(pass, shape, rows, split.pairs(), weights, x.data()); });
    row(": weights' gradient", work,
        [&] { cuda::convolve_first_weights(pass, shape, rows, d_rows, d_weights.data()); });
    return;
  }
  row(": weights split", {0, 2 * weights_bytes},
      [&] { cuda::split_weights(pass, shape, 0, weight_maxima.data(), split.pairs()); });
  row(": images split", {0, 2 * ins_bytes}, [&] {
    cuda::split_images(pass, {in.data(), in_width}, shape.inputs, maxima.data(), ins.pairs());
  });
  row(": gradient split", {0, 2 * outs_bytes},
      [&] { cuda::split_images(pass, d_rows, shape.outputs, nullptr, d_outs.pairs()); });
  row(": convolution", work,
      [&] { cuda::convolve_pairs(pass, shape, ins.pairs(), split.pairs(), weights, x.data()); });
  row(": inputs' gradient", work,
      [&] { cuda::convolve_inputs_pairs(pass, shape, d_outs.pairs(), split.pairs(), in.data()); });
  row(": weights' gradient", work, [&] {
    cuda::convolve_weights_pairs(pass, shape, ins.pairs(), d_outs.pairs(), d_weights.data());
  });
}

Learning learning_of(const LoadedData& data, std::uint32_t nodes, std::size_t steps,
                     Precision precision, bool graphs = true) {
  return make_learning(
      data, partition_data(data, "iid", nodes, Random(1)),
      {.model = parse_spec("gn-lenet"),
       .training = {.lr = 0.01f, .batch = 8, .steps = steps},
       .device = parse_device(
           fmt::format("cuda:precision={},graphs={}", to_string(precision), graphs ? "yes" : "no")),
       .backends = {&cuda_backend(), 1}});
}

struct StepTimes {
  double step_ms = 0, round_ms = 0;
};

// A step is what a round of eight takes longer than one of three, divided by five: the rest is what
// the models take to travel. Either round is asked for in one turn, and with graphs it is one.
StepTimes time_steps(Bench& bench, const LoadedData& data, std::uint32_t nodes, Precision precision,
                     bool graphs) {
  const auto seconds = [&](std::size_t steps) {
    const Learning learning = learning_of(data, nodes, steps, precision, graphs);
    return seconds_of_round(bench, *learning.trainer, nodes);
  };
  const double three = seconds(3), eight = seconds(8);
  return {.step_ms = (eight - three) / 5 * 1e3, .round_ms = three * 1e3};
}

void bench_steps(Bench& bench, const LoadedData& data, std::uint32_t nodes, Precision precision) {
  const StepTimes graphs = time_steps(bench, data, nodes, precision, true),
                  calls = time_steps(bench, data, nodes, precision, false);
  const double step_ms = graphs.step_ms;
  bench.say(fmt::format(
      "  {} nodes, {}: {:.3f} ms a step, {:.3f} with graphs=no; a round of 3 with the copies "
      "{:.2f} ms, {:.2f} with graphs=no",
      nodes, to_string(precision), step_ms, calls.step_ms, graphs.round_ms, calls.round_ms));
  if (nodes == 96 && precision == Precision::k3xF16)
    bench.limit("a step of 96 GN-LeNets on the GPU, 3xf16", step_ms, 2.0, "ms");
  if (nodes == 96 && precision == Precision::kTf32)
    bench.limit("a step of 96 GN-LeNets on the GPU, tf32", step_ms, 1.0, "ms");
  if (nodes == 1024 && precision == Precision::k3xF16)
    bench.limit("a step of 1,024 GN-LeNets on the GPU, 3xf16", step_ms, 20, "ms");
}

void bench_evaluation(Bench& bench, const LoadedData& data, Precision precision) {
  const Learning learning = learning_of(data, 96, 1, precision);
  const Vector model = learning.trainer->initial_model();
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < 96; ++node) nodes.push_back(node);
  const std::vector<std::span<const float>> models(96, model);
  const double seconds =
      bench.time([&] { keep(learning.evaluator->evaluate(nodes, models)[0].loss); }).median_s;
  bench.say(
      fmt::format("  96 models on 10,000 images, {}: {:.3f} s", to_string(precision), seconds));
  if (precision == Precision::k3xF16)
    bench.limit("96 models on 10,000 images, 3xf16", seconds, 0.35, "s");
}

// Milliseconds of a step of every model on LibTorch, in float32; none where it is not there.
std::vector<double> steps_on_torch(Bench& bench, std::span<const Backend> backends) {
  std::vector<double> step_ms;
  try {
    for (const Backend& backend : backends)
      for (const StackedCase& what : stacked_cases())
        if (backend.name != cuda_backend().name)
          step_ms.push_back(time_stacked(bench, what, 96, "cuda", {&backend, 1}).step_ms);
  } catch (const std::invalid_argument& none) {
    bench.say(fmt::format("not beside LibTorch: {}", none.what()));
    step_ms.clear();
  }
  return step_ms;
}

void bench_models(Bench& bench, Precision precision, std::span<const double> torch_ms) {
  for (std::size_t i = 0; i < stacked_cases().size(); ++i) {
    const StackedCase& what = stacked_cases()[i];
    const StackedTimes times =
        time_stacked(bench, what, 96, fmt::format("cuda:precision={}", to_string(precision)),
                     {&cuda_backend(), 1});
    const std::string beside = torch_ms.empty()
                                   ? ""
                                   : fmt::format("; LibTorch's step {:.3f} ms, {:.1f}x",
                                                 torch_ms[i], torch_ms[i] / times.step_ms);
    bench.say(fmt::format(
        "  {:<21} {:<11} batch {:>2}, {:<6}: {:8.3f} ms a step; a round of 2 {:.2f} ms{}",
        what.model, what.data, what.batch, to_string(precision), times.step_ms, times.round_ms,
        beside));
  }
}

// Small arrays stay in the GPU's cache, which is faster than a large copy.
void bench_other_kernels(Bench& bench, const cuda::Stream& stream, const cuda::Peaks& peaks) {
  bench.say(
      "other kernels, 96 nodes, in plain float32; what fits in the cache may beat the floor:");
  KernelTable table{bench, stream, peaks};
  cuda::bench_plain_kernels(table, 96);
  cuda::bench_table_kernels(table, 96);
  for (const Precision precision : {Precision::kFp32, Precision::k3xTf32, Precision::kTf32}) {
    bench.say(fmt::format("a level of an LSTM, 96 nodes, batch 16, {}:", to_string(precision)));
    cuda::bench_lstm_kernels(table, 96, precision);
  }
}

}  // namespace

void bench_gpu(Bench& bench, std::span<const Backend> backends) {
  bench.section("our kernels on the GPU");
  if (cuda::kEmulated) return bench.say("an emulated GPU is not timed");
  try {
    cuda::use_gpu(0);
  } catch (const std::invalid_argument& none) {
    return bench.say(none.what());
  }
  const cuda::Stream stream;
  const cuda::Peaks peaks = cuda::measure_peaks(stream);
  bench.say(fmt::format(
      "peaks: {:.1f} TFLOP/s in plain float32, by mma.sync {:.1f} in TF32 and {:.1f} in "
      "halves, {:.2f} TB/s in a large copy",
      peaks.plain * 1e-12, peaks.tensor * 1e-12, peaks.halves * 1e-12, peaks.bytes * 1e-12));
  const std::array<ConvShape, 3> shapes = {
      ConvShape{32, 32, 3, 32, 5}, ConvShape{16, 16, 32, 32, 5}, ConvShape{8, 8, 32, 64, 5}};
  const std::array precisions = {Precision::kFp32, Precision::k3xF16, Precision::k3xTf32,
                                 Precision::kTf32};
  for (const Precision precision : precisions) {
    bench.say(fmt::format("GN-LeNet's kernels, 96 nodes, batch 8, {}:", to_string(precision)));
    KernelTable table{bench, stream, peaks};
    for (const ConvShape& shape : shapes)
      cuda::takes_pairs(precision) ? bench_pairs(table, 96, 8, shape, precision)
                                   : bench_stage(table, 96, 8, shape, precision);
    bench.say(fmt::format("  floor of these together: {:.3f} ms", table.floor_s * 1e3));
  }
  bench_other_kernels(bench, stream, peaks);
  const LoadedData data = images_like_cifar(20'480, 10'000);
  for (const std::uint32_t nodes : {96u, 1024u})
    for (const Precision precision : precisions) bench_steps(bench, data, nodes, precision);
  for (const Precision precision : precisions) bench_evaluation(bench, data, precision);
  bench.say("96 nodes of every model:");
  const std::vector<double> torch_ms = steps_on_torch(bench, backends);
  for (const Precision precision : precisions) bench_models(bench, precision, torch_ms);
}

}  // namespace tessera
