#include "base/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/output.h"
#include "base/table.h"
#include "cli/command.h"
#include "codec/codec_bench.h"
#if TESSERA_WITH_CUDA
#include "cuda/gpu_bench.h"
#endif
#include "run/backends.h"
#if TESSERA_WITH_LIVE
#include "live/link/transport_bench.h"
#endif
#include "learn/layers_bench.h"
#include "math/math_bench.h"
#include "math/simd.h"
#include "run/simulation_bench.h"
#include "sharing/sharing_bench.h"
#include "sim/network_bench.h"
#include "topology/topology_bench.h"

namespace tessera {
namespace {

struct Benchmark {
  std::string_view name{};
  std::string_view summary{};
  void (*run)(Bench&) = nullptr;
};

void bench_train(Bench& bench) {
  bench_layers(bench);
  bool compared = false;
  for (const Backend& backend : backends()) {
    if (backend.bench) backend.bench(bench);
    compared = compared || backend.bench;
  }
  if (!compared) bench.say("training is compared with LibTorch: build the preset 'release'");
}

constexpr std::array kBenchmarks = {
    Benchmark{"wavelet", "transform and inverse beside memcpy and PyWavelets", bench_wavelet},
    Benchmark{"select", "the largest magnitudes beside std::nth_element", bench_select},
    Benchmark{"codecs", "indices and values to bytes and back, beside numpy and fpzip",
              bench_codecs},
    Benchmark{"topology", "drawing graphs and asking for peers", bench_topology},
    Benchmark{"share", "everything a node does in a JWINS round besides training",
              bench_share_path},
    Benchmark{"network", "messages through every network, offered the way DivShare does",
              bench_networks},
    Benchmark{"simulator", "messages per second of DivShare under fifo and links", bench_simulator},
    Benchmark{"train", "layers beside the core's best; a step beside stock LibTorch's",
              bench_train},
#if TESSERA_WITH_CUDA
    Benchmark{"gpu", "our kernels beside the GPU's peaks, steps beside LibTorch's, an evaluation",
              [](Bench& bench) { bench_gpu(bench, backends()); }},
#endif
#if TESSERA_WITH_LIVE
    Benchmark{"transport", "encrypted links beside ZeroMQ alone, plain and with CURVE",
              bench_transport},
#endif
};

struct BenchArguments {
  std::vector<std::string> names{};
  std::vector<std::size_t> sizes{};
  std::vector<std::uint32_t> nodes{};
  bool quick = false;
  bool no_python = false;
};

int run_bench(const BenchArguments& arguments) {
  BenchOptions options;
  if (arguments.quick) {
    // Small enough for the test suite: shows that every benchmark runs and verifies, not how fast
    // it is.
    options.sizes = {10'000};
    options.nodes = {100};
    options.seconds_per_contender = 0.01;
  }
  if (!arguments.sizes.empty()) options.sizes = arguments.sizes;
  if (!arguments.nodes.empty()) options.nodes = arguments.nodes;
  options.python = !arguments.no_python && !arguments.quick;
  std::vector<const Benchmark*> chosen;
  for (const std::string& name : arguments.names)
    chosen.push_back(&require_entry(std::span<const Benchmark>(kBenchmarks), "benchmark", name));
  if (chosen.empty())
    for (const Benchmark& benchmark : kBenchmarks) chosen.push_back(&benchmark);
  print_out(
      "SIMD: {}. Medians on one core, contenders in turns; GB/s counts the floats' own bytes.\n",
      simd_target());
  Bench bench(options);
  for (const Benchmark* benchmark : chosen) benchmark->run(bench);
  bench.print_goals();
  return 0;
}

}  // namespace

Action add_bench(CLI::App& parser) {
  auto arguments = std::make_shared<BenchArguments>();
  std::string names;
  for (const Benchmark& benchmark : kBenchmarks)
    names += fmt::format("\n  {:<10} {}", benchmark.name, benchmark.summary);
  parser.add_option("name", arguments->names, "Benchmarks to run (default: all):" + names);
  parser
      .add_option("--sizes", arguments->sizes,
                  "Floats per vector (default: 89834,1000000,10000000)")
      ->delimiter(',')
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 31));
  parser.add_option("--nodes", arguments->nodes, "Nodes of a simulation (default: 100,1000,10000)")
      ->delimiter(',')
      ->check(CLI::Range(10u, 1'000'000u));
  parser.add_flag("--quick", arguments->quick,
                  "Tiny inputs, a second in all: does everything still run?");
  parser.add_flag("--no-python", arguments->no_python, "Leave the Python references out");
  parser.footer(
      "Examples:\n"
      "  tessera bench\n"
      "  tessera bench wavelet select --sizes=89834,1000000\n"
      "  tessera bench simulator --nodes=100000\n"
      "  tessera bench --quick");
  return [arguments](const std::string&) { return run_bench(*arguments); };
}

}  // namespace tessera
