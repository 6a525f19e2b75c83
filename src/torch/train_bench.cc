#include "torch/train_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <span>
#include <string_view>
#include <thread>

#include "data/stores.h"
#include "data/views.h"
#include "learn/amx.h"
#include "learn/bench_images.h"
#include "learn/bf16.h"
#include "learn/cpu_net.h"
#include "learn/device.h"
#include "learn/learning.h"
#include "learn/models.h"
#include "learn/node_model.h"
#include "learn/optimizer.h"
#include "learn/stacked_bench.h"
#include "torch/backend.h"
#include "torch/blas.h"
#include "torch/device_state.h"
#include "torch/reference_model.h"
#include "torch/tensors.h"
#include "torch/torch_twins.h"

namespace tessera {
namespace {

using torch::Tensor;

constexpr std::size_t kBatch = 8;
constexpr float kLr = 0.01f;
// In parts of the gradient's length; pooling takes another pixel where two are nearly alike.
constexpr float kBf16Gap = 0.35f, kFloatGap = 1e-4f;

bool is_quick(const Bench& bench) {
  return bench.options().seconds_per_contender < 0.1;
}

Task image_task(std::uint32_t channels, std::uint32_t side, std::uint32_t classes) {
  return {.kind = Task::Kind::kImages, .shape = {channels, side, side}, .classes = classes};
}

struct Samples {
  Vector features{}, targets{};
  Batch batch() const { return {features, targets}; }
};

// By Winograd, pooling takes another pixel where two differ by a millionth: with this seed none do.
Samples made_up(const Task& task, std::size_t count) {
  Random random(6);
  Samples samples{Vector(count * task.features()), Vector(count)};
  const auto below = [&](std::uint32_t end) { return static_cast<float>(random.below(end)); };
  for (std::size_t i = 0; i < samples.features.size(); ++i)
    samples.features[i] = task.kind == Task::Kind::kRatings ? below(i % 2 ? task.items : task.users)
                          : task.vocabulary > 0             ? below(task.vocabulary)
                                                            : static_cast<float>(random.normal());
  for (float& value : samples.targets) value = below(task.classes > 0 ? task.classes : 6);
  return samples;
}

// A step as a PyTorch user writes it.
class StockStep {
 public:
  StockStep(std::shared_ptr<twins::Module> module, const Task& task, const Samples& samples)
      : module_(std::move(module)),
        optimizer_(module_->parameters(), torch::optim::SGDOptions(double{kLr})),
        classes_(task.classes > 0),
        targets_(view_of(samples.targets).to(classes_ ? torch::kInt64 : torch::kFloat)) {
    std::vector<std::int64_t> shape(task.shape.begin(), task.shape.end());
    shape.insert(shape.begin(), static_cast<std::int64_t>(samples.targets.size()));
    images_ = view_of(samples.features).view(shape);
  }
  void run() {
    optimizer_.zero_grad();
    const Tensor outputs = module_->forward(images_);
    (classes_ ? torch::cross_entropy_loss(outputs, targets_) : torch::mse_loss(outputs, targets_))
        .backward();
    optimizer_.step();
  }
  twins::Module& module() { return *module_; }

 private:
  std::shared_ptr<twins::Module> module_;
  torch::optim::SGD optimizer_;
  bool classes_;
  Tensor images_, targets_;
};

void step(NodeModel& model, const Batch& batch) {
  const TrainingOptions training{.lr = kLr};
  const OptimizerStep optimizer(training, 0);
  model.descend(batch, [&](std::size_t first, std::span<const float> gradient) {
    optimizer.apply(model.parameters().subspan(first, gradient.size()), gradient, {});
  });
}

// Both start from the same vector: one gradient of each must agree before any is timed.
void verify(Bench& bench, const Model& model, NodeModel& ours, StockStep& stock,
            const Samples& samples, float gap_max = kFloatGap) {
  const Vector flat = initial_parameters(model, Random(1));
  twins::load(stock.module(), flat);
  ours.arrange(flat, ours.parameters());
  stock.run();
  ours.differentiate(samples.batch());
  Vector gradient(flat.size());
  ours.restore(ours.gradient(), gradient);
  const std::vector<float> expected = twins::gradients(stock.module());
  const Tensor gap = (view_of(gradient) - view_of(expected)).norm();
  bench.verify(gap.item<float>() <= gap_max * view_of(expected).norm().item<float>(),
               model.name + "'s gradient");
}

// A node makes several steps in a row, and so does a contender in its turn: the first of them finds
// the caches full of the others' numbers. The time is that of one.
std::vector<Timing> time_steps(const Bench& bench, const std::vector<Contender>& contenders) {
  constexpr int kSteps = 5;
  std::vector<Contender> in_a_row;
  for (const Contender& contender : contenders)
    in_a_row.push_back({contender.name, [&contender] {
                          for (int i = 0; i < kSteps; ++i) contender.run();
                        }});
  std::vector<Timing> times = bench.time_in_turns(in_a_row);
  for (Timing& time : times) {
    time.median_s /= kSteps;
    time.p90_s /= kSteps;
  }
  return times;
}

// Other ways to make a model's convolutions: options of device=cpu.
constexpr std::array<std::string_view, 4> kWays = {"convolution=winograd", "precision=bf16",
                                                   "convolution=winograd,precision=bf16",
                                                   "convolution=amx,precision=bf16"};

struct WayResult {
  std::string_view way{};
  double faster = 0;  // Than stock LibTorch's step, so many times.
};

// CPUs differ in which way with bf16 is the fastest; one is judged by its best.
void judge_ways(Bench& bench, std::span<const WayResult> results) {
  WayResult best{};
  for (const WayResult& result : results) {
    if (result.way == "convolution=winograd")
      bench.goal("the same with convolution=winograd", result.faster, 3.5);
    if (result.way.ends_with("precision=bf16") && result.faster > best.faster) best = result;
  }
  if (!best.way.empty())
    bench.goal(fmt::format("the same in bf16, at best by {}", best.way), best.faster, 5);
}

bool has_convolutions(const Model& model) {
  return std::ranges::any_of(model.layers, [](const Layer& layer) {
    return std::holds_alternative<Convolution>(layer.kind);
  });
}

bool has_way(const Model& model, CpuKernels kernels) {
  const bool has_5x5 = model.name == "gn-lenet" || model.name == "femnist-cnn";
  return has_convolutions(model) && (!kernels.winograd || has_5x5) &&
         (!kernels.bf16 || has_bf16()) && (!kernels.amx || (has_amx() && !amx_is_emulated()));
}

void bench_steps(Bench& bench, std::string_view spec, const Task& task,
                 std::shared_ptr<twins::Module> module) {
  const Model model = build_model(spec, task);
  const Samples samples = made_up(task, kBatch);
  StockStep stock(std::move(module), task, samples);
  const auto by_hand = make_cpu_net(model, kBatch);
  const auto reference = make_reference_model(model);
  verify(bench, model, *by_hand, stock, samples);
  verify(bench, model, *reference, stock, samples);
  std::vector<Contender> contenders = {
      {"stock torch::nn modules and optimizer", [&] { stock.run(); }},
      {"our layers under LibTorch's autograd", [&] { step(*reference, samples.batch()); }},
      {"our CPU layers", [&] { step(*by_hand, samples.batch()); }}};
  const std::size_t first_way = contenders.size();
  std::vector<std::unique_ptr<NodeModel>> nets;
  std::vector<WayResult> ways;
  for (const std::string_view way : kWays) {
    const CpuKernels kernels = parse_device(fmt::format("cpu:{}", way)).kernels;
    if (!has_way(model, kernels)) continue;
    NodeModel& net = *nets.emplace_back(make_cpu_net(model, kBatch, kernels));
    verify(bench, model, net, stock, samples, kernels.bf16 ? kBf16Gap : kFloatGap);
    ways.push_back({.way = way});
    contenders.push_back(
        {fmt::format("our CPU layers, {}", way), [&net, &samples] { step(net, samples.batch()); }});
  }
  const std::vector<Timing> times = time_steps(bench, contenders);
  const auto faster = [&](std::size_t i) { return times[0].median_s / times[i].median_s; };
  for (std::size_t i = 0; i < times.size(); ++i)
    bench.row(fmt::format("{}: {}", model.name, contenders[i].name), times[i], 0,
              fmt::format("{:.2f}x", faster(i)));
  if (spec == "lstm") bench.goal("an LSTM step against stock LibTorch, one core", faster(2), 1.3);
  if (spec != "gn-lenet" || is_quick(bench)) return;
  bench.goal("a GN-LeNet step against stock LibTorch, one core", faster(2), 1.4);
  for (std::size_t i = 0; i < ways.size(); ++i) ways[i].faster = faster(first_way + i);
  judge_ways(bench, ways);
}

void bench_matrix_product(Bench& bench) {
  const std::int64_t size = is_quick(bench) ? 64 : 1024;
  const Samples numbers = made_up(image_task(1, 1, 2), static_cast<std::size_t>(size * size));
  const Tensor a = view_of(numbers.features).view({size, size});
  Tensor c = torch::empty_like(a);
  const Timing timing = bench.time([&] { torch::mm_out(c, a, a); });
  const double flops = 2.0 * static_cast<double>(size * size * size);
  bench.row(fmt::format("torch::mm, {0}x{0}, one thread", size), timing, 0,
            fmt::format("{:.0f} GFLOP/s ({})", flops / timing.median_s * 1e-9, describe_blas()));
}

struct Cohort {
  Learning learning;
  std::vector<Vector> models;

  Cohort(const LoadedData& data, std::uint32_t nodes, unsigned threads,
         std::string_view device = "cpu")
      : learning(make_learning(data, partition_data(data, "iid", nodes, Random(1)),
                               {.model = parse_spec("gn-lenet"),
                                .training = {.lr = 0.01f, .batch = 8, .steps = 3},
                                .device = parse_device(device),
                                .threads = threads,
                                .backends = {&torch_backend(), 1}})),
        models(nodes, learning.trainer->initial_model()) {}

  void train() {
    std::vector<TrainJob> jobs;
    for (NodeId node = 0; node < models.size(); ++node)
      jobs.push_back({node, models[node], Random(1).fork("node", node)});
    learning.trainer->train(jobs);
  }
};

void bench_threads(Bench& bench, const LoadedData& data) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  if (cores < 2) return bench.say("one core: threads are not compared");
  Cohort one(data, 8, 1), two(data, 8, 2);
  const std::vector<Contender> contenders = {{"1 thread", [&] { one.train(); }},
                                             {"2 threads", [&] { two.train(); }}};
  const std::vector<Timing> times = bench.time_in_turns(contenders);
  one.models = two.models = std::vector<Vector>(8, one.learning.trainer->initial_model());
  one.train();
  two.train();
  bench.verify(one.models == two.models, "two threads' result");
  for (std::size_t i = 0; i < times.size(); ++i)
    bench.row(fmt::format("8 nodes, 3 steps each, {}", contenders[i].name), times[i], 0,
              fmt::format("{:.2f}x", times[0].median_s / times[i].median_s));
  if (!is_quick(bench))
    bench.goal("two worker threads against one", times[0].median_s / times[1].median_s, 1.8);
}

double resident_gib() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 0x1p30;
}

void bench_memory(Bench& bench, const LoadedData& data) {
  for (const std::uint32_t nodes : {96u, 1024u}) {
    Cohort cohort(data, nodes, 0);
    if (!is_quick(bench)) cohort.train();
    const double gib = resident_gib();
    bench.say(
        fmt::format("memory of this process with {} nodes and their data: {:.2f} GiB", nodes, gib));
    if (!is_quick(bench))
      bench.limit(fmt::format("memory for {} GN-LeNet nodes", nodes), gib, nodes == 96 ? 1.5 : 6,
                  "GiB");
  }
}

// What this GPU reaches at best: a large product in plain float32, and a large copy.
struct GpuLimits {
  double flops_per_s = 0, bytes_per_s = 0;
};

GpuLimits measure_gpu(const Bench& bench) {
  constexpr std::int64_t kSide = 8192, kFloats = std::int64_t{1} << 28;
  const torch::Tensor a = torch::ones({kSide, kSide}, torch::kCUDA),
                      from = torch::ones({kFloats}, torch::kCUDA);
  torch::Tensor product = torch::empty_like(a), to = torch::empty_like(from);
  const auto timed = [&](const std::function<void()>& run) {
    return bench.time([&] { run(), torch::cuda::synchronize(); }).median_s;
  };
  return {2.0 * kSide * kSide * kSide / timed([&] { torch::mm_out(product, a, a); }),
          2.0 * kFloats * sizeof(float) / timed([&] { to.copy_(from); })};
}

// A step's least work per sample of GN-LeNet: multiplications forward and twice that back; columns
// and activations written and read once forward and once back.
struct StepWork {
  double flops = 0, bytes = 0;
};

StepWork work_of(const Model& model) {
  StepWork work;
  for (const Layer& layer : model.layers) {
    if (const auto* const conv = std::get_if<Convolution>(&layer.kind)) {
      const double pixels = layer.in[1] * layer.in[2],
                   patch = layer.in[0] * conv->kernel * conv->kernel;
      work.flops += 3 * 2 * pixels * patch * conv->outputs;
    }
    if (const auto* const linear = std::get_if<Linear>(&layer.kind))
      work.flops += 3 * 2.0 * linear->inputs * linear->outputs;
  }
  work.bytes = 4.0 * sizeof(float) * static_cast<double>(activations_of(model));
  return work;
}

void bench_gpu(Bench& bench, const LoadedData& data) {
  if (!torch::cuda::is_available()) return bench.say("no GPU: the stacked step is not timed");
  const GpuLimits limits = measure_gpu(bench);
  const StepWork work = work_of(build_model("gn-lenet", data.task));
  bench.say(
      fmt::format("the GPU: {:.1f} TFLOP/s in a large float32 product, {:.2f} TB/s in a large copy",
                  limits.flops_per_s * 1e-12, limits.bytes_per_s * 1e-12));
  for (const std::uint32_t nodes : {96u, 384u, 1024u}) {
    Cohort cohort(data, nodes, 0, "cuda");
    const Timing timing = bench.time([&] { cohort.train(); });
    const double ms = timing.median_s / 3 * 1e3, samples = 8.0 * nodes;
    const double arithmetic = samples * work.flops / limits.flops_per_s * 1e3;
    const double memory = samples * work.bytes / limits.bytes_per_s * 1e3;
    bench.row(
        fmt::format("{} nodes stacked on the GPU, 3 steps", nodes), timing, 0,
        fmt::format("{:.2f} ms a step; floor: {:.2f} ms arithmetic, {:.2f} ms memory, so {:.1f}x",
                    ms, arithmetic, memory, ms / std::max(arithmetic, memory)));
    if (nodes == 96) bench.limit("a step of 96 GN-LeNets on the GPU", ms, 9, "ms");
  }
  // What `bench gpu` times on our own kernels.
  for (const StackedCase& what : stacked_cases()) {
    const StackedTimes times = time_stacked(bench, what, 96, "cuda", {&torch_backend(), 1});
    bench.say(fmt::format("  96 nodes, {} ({}, batch {}): {:.3f} ms a step; a round of 2 {:.2f} ms",
                          what.model, what.data, what.batch, times.step_ms, times.round_ms));
  }
}

}  // namespace

void bench_training(Bench& bench) {
  use_one_torch_thread();
  bench.section("training, batch 8, one thread");
  bench_matrix_product(bench);
  bench_steps(bench, "gn-lenet", image_task(3, 32, 10), twins::gn_lenet(32, 3, 10));
  bench_steps(bench, "femnist-cnn", image_task(1, 28, 62), twins::femnist_cnn(28, 62));
  bench_steps(bench, "resnet8", image_task(3, 32, 10), twins::resnet8(3, 10, 4));
  const Task ratings{.kind = Task::Kind::kRatings, .shape = {2}, .users = 610, .items = 9'724};
  bench_steps(bench, "matrix-factorization", ratings, twins::matrix_factorization(610, 9'724, 20));
  if (!is_quick(bench)) {
    bench_steps(bench, "celeba-cnn", image_task(3, 84, 2), twins::celeba_cnn(84, 2));
    const Task text{.kind = Task::Kind::kTokens, .shape = {80}, .classes = 92, .vocabulary = 92};
    bench_steps(bench, "lstm", text, twins::lstm(80, 92));
  }
  bench.section("training many nodes, GN-LeNet");
  const std::size_t images = is_quick(bench) ? 2'000 : 50'000;
  const LoadedData data = images_like_cifar(images, images / 5);
  bench_threads(bench, data);
  bench_memory(bench, data);
  bench_gpu(bench, data);
}

}  // namespace tessera
