#include "learn/layers_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/random.h"
#include "learn/amx.h"
#include "learn/bf16.h"
#include "learn/cpu_chain.h"
#include "learn/cpu_net.h"
#include "learn/fma_rate.h"
#include "learn/layers/conv_block.h"
#include "learn/models.h"
#include "learn/optimizer.h"
#include "learn/winograd.h"
#include "learn/winograd_first.h"

namespace tessera {
namespace {

constexpr std::size_t kBatch = 8;

// A way to make convolutions, and how far from the first it may be, in parts of the length of what
// it gives. In bf16, pooling takes another pixel where two are nearly alike.
struct Way {
  std::string_view name{};
  CpuKernels kernels{};
  float gap = 0;
};
constexpr std::array kWays = {Way{"direct", {}, 0}, Way{"winograd", {.winograd = true}, 1e-4f},
                              Way{"bf16", {.bf16 = true}, 0.15f},
                              Way{"winograd, bf16", {.winograd = true, .bf16 = true}, 0.35f},
                              Way{"amx, bf16", {.bf16 = true, .amx = true}, 0.15f}};

bool has_kernels(const Way& way) {
  return (!way.kernels.bf16 || has_bf16()) &&
         (!way.kernels.amx || (has_amx() && !amx_is_emulated()));
}

// By Winograd, pooling takes another pixel where two differ by a millionth: with this seed none do.
Floats64 normals(std::size_t count) {
  Random random(6);
  Floats64 values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// GFLOP/s.
double multiply_add_rate(Bench& bench) {
  Floats64 sums = normals(16);
  constexpr std::size_t kRounds = 100'000;
  double operations = 0;
  const Timing timing = bench.time([&] { operations = run_multiply_adds(kRounds, sums.data()); });
  keep(sums);
  const double rate = operations / timing.median_s * 1e-9;
  bench.row("multiply-adds in registers", timing, 0, fmt::format("{:.0f} GFLOP/s", rate));
  return rate;
}

// A layer, or the run of them that is fused.
struct Piece {
  std::string name{};
  std::span<const Layer> layers{};
  std::size_t inputs = 0;  // Numbers of a sample.
  double operations = 0;   // Of the way there, by the formula.
  bool first = false;      // Nobody asks for the gradient of the samples themselves.
  bool convolution = false;
  bool winograd = false;  // There is a choice.

  bool has(const Way& way) const {
    return (!way.kernels.winograd || winograd) && (!way.kernels.bf16 || convolution) &&
           has_kernels(way);
  }
};

double operations_of(const Layer& layer) {
  const auto size = static_cast<double>(kBatch);
  if (const auto* const conv = std::get_if<Convolution>(&layer.kind))
    return 2 * size * layer.in[1] * layer.in[2] * layer.in[0] * conv->kernel * conv->kernel *
           conv->outputs;
  if (const auto* const linear = std::get_if<Linear>(&layer.kind))
    return 2 * size * static_cast<double>(linear->inputs) * static_cast<double>(linear->outputs);
  return 0;
}

bool has_a_choice(const Layer& layer, bool first) {
  const auto* const conv = std::get_if<Convolution>(&layer.kind);
  if (!conv) return false;
  const ConvShape shape{.height = layer.in[1],
                        .width = layer.in[2],
                        .batch = kBatch,
                        .inputs = conv->inputs,
                        .outputs = conv->outputs,
                        .kernel = conv->kernel,
                        .stride = conv->stride};
  return first ? winograd_first_fits(shape) : winograd_fits(shape);
}

std::vector<Piece> pieces_of(const Model& model) {
  std::vector<Piece> pieces;
  for (std::span<const Layer> rest = model.layers; !rest.empty();) {
    const std::size_t length = std::max<std::size_t>(1, conv_block_length(rest, pieces.empty()));
    const Layer& layer = rest.front();
    const std::string& weight = model.parameters[layer.first_parameter].name;
    pieces.push_back({.name = weight.substr(0, weight.find('.')),
                      .layers = rest.first(length),
                      .inputs = std::accumulate(layer.in.begin(), layer.in.end(), std::size_t{1},
                                                std::multiplies<>()),
                      .operations = operations_of(layer),
                      .first = pieces.empty(),
                      .convolution = std::holds_alternative<Convolution>(layer.kind),
                      .winograd = has_a_choice(layer, pieces.empty())});
    rest = rest.subspan(length);
  }
  return pieces;
}

// A piece at work on made-up numbers.
class Work {
 public:
  Work(const Model& model, const Piece& piece, std::size_t outputs, CpuKernels kernels)
      : chain_(model, piece.layers, kBatch, piece.first, kernels),
        parameters_(model.dimension()),
        gradient_(model.dimension()),
        in_(normals(kBatch * piece.inputs)),
        d_in_(piece.first ? 0 : in_.size()),
        outputs_(kBatch * outputs) {
    const Vector flat = initial_parameters(model, Random(1));
    std::copy(flat.begin(), flat.end(), parameters_.begin());
    chain_.arrange(flat, parameters_);
    const Floats64 d_out = normals(outputs_);
    std::copy(d_out.begin(), d_out.end(), chain_.d_out());
  }
  void forward() { chain_.forward(parameters_, in_.data(), kBatch); }
  void forth_and_back() {
    forward();
    chain_.backward(parameters_, gradient_, in_.data(), d_in_.empty() ? nullptr : d_in_.data());
  }
  std::span<const float> out() const { return {chain_.out(), outputs_}; }

 private:
  CpuChain chain_;
  Floats64 parameters_, gradient_, in_, d_in_;
  std::size_t outputs_;
};

bool alike(std::span<const float> a, std::span<const float> b, float gap_max) {
  float gap = 0, scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    gap += (a[i] - b[i]) * (a[i] - b[i]);
    scale += b[i] * b[i];
  }
  return gap <= gap_max * gap_max * scale;
}

void bench_piece(Bench& bench, const Model& model, const Piece& piece, std::size_t outputs,
                 double best) {
  std::vector<std::unique_ptr<Work>> works;
  std::vector<Contender> contenders;
  for (const Way& way : kWays) {
    if (!piece.has(way)) continue;
    Work& work = *works.emplace_back(std::make_unique<Work>(model, piece, outputs, way.kernels));
    work.forward();
    bench.verify(alike(work.out(), works[0]->out(), way.gap),
                 fmt::format("{}, {}", piece.name, way.name));
    const std::string by = works.size() == 1 ? "" : fmt::format(", {}", way.name);
    contenders.push_back({"forward" + by, [&work] { work.forward(); }});
    contenders.push_back({"forth and back" + by, [&work] { work.forth_and_back(); }});
  }
  const std::vector<Timing> times = bench.time_in_turns(contenders);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double ways = i % 2 == 0 ? 1 : piece.first ? 2 : 3;
    const double rate = ways * piece.operations / times[i].median_s * 1e-9;
    std::string note = fmt::format("{:.0f} GFLOP/s, {:.2f} of the best", rate, rate / best);
    if (i >= 2) note += fmt::format(", {:.2f}x", times[i % 2].median_s / times[i].median_s);
    bench.row(fmt::format("{}: {}", piece.name, contenders[i].name), times[i], 0, note);
  }
}

void step(NodeModel& model, const Batch& batch) {
  const TrainingOptions training{.lr = 0.01f};
  const OptimizerStep optimizer(training, 0);
  model.descend(batch, [&](std::size_t first, std::span<const float> gradient) {
    optimizer.apply(model.parameters().subspan(first, gradient.size()), gradient, {});
  });
}

void bench_step(Bench& bench, const Model& model, double operations) {
  const Floats64 features = normals(kBatch * model.task.features());
  const Vector targets = {0, 1, 2, 3, 4, 5, 6, 7};
  const Batch batch{features, targets};
  const Vector flat = initial_parameters(model, Random(1));
  std::vector<std::unique_ptr<NodeModel>> nets;
  std::vector<Contender> contenders;
  for (const Way& way : kWays) {
    if (!has_kernels(way)) continue;
    NodeModel& net = *nets.emplace_back(make_cpu_net(model, kBatch, way.kernels));
    net.arrange(flat, net.parameters());
    net.differentiate(batch);
    bench.verify(alike(net.gradient(), nets[0]->gradient(), way.gap),
                 fmt::format("the gradient, {}", way.name));
    contenders.push_back({std::string(way.name), [&net, &batch] { step(net, batch); }});
  }
  const std::vector<Timing> times = bench.time_in_turns(contenders);
  for (std::size_t i = 0; i < times.size(); ++i)
    bench.row(fmt::format("a whole step, {}", contenders[i].name), times[i], 0,
              fmt::format("{:.0f} GFLOP/s, {:.2f}x", operations / times[i].median_s * 1e-9,
                          times[0].median_s / times[i].median_s));
}

}  // namespace

void bench_layers(Bench& bench) {
  const Task task{.kind = Task::Kind::kImages, .shape = {3, 32, 32}, .classes = 10};
  const Model model = build_model("gn-lenet", task);
  bench.section("GN-LeNet's layers, batch 8, one thread; operations as the formula has them");
  const double best = multiply_add_rate(bench);
  const std::vector<Piece> pieces = pieces_of(model);
  double operations = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    bench_piece(bench, model, pieces[i],
                i + 1 < pieces.size() ? pieces[i + 1].inputs : model.outputs, best);
    operations += (pieces[i].first ? 2 : 3) * pieces[i].operations;
  }
  bench_step(bench, model, operations);
}

}  // namespace tessera
