// The rows of kernels for text and ratings.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "cuda/kernels_bench.h"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

std::size_t size(int count) {
  return static_cast<std::size_t>(count);
}

// Whole numbers as samples have them, below each of `ends` in turn.
template <std::size_t kEnds>
DeviceArray<float> whole_numbers(std::size_t count, const std::array<std::uint32_t, kEnds>& ends) {
  Random random(1);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(random.below(ends[i % kEnds]));
  DeviceArray<float> made(count);
  upload_now(made.data(), values.data(), count * sizeof(float));
  return made;
}

// Shakespeare's characters.
void bench_table(KernelTable& table, int nodes, int batch) {
  const TableShape shape{.rows = 92, .width = 8, .numbers = 80};
  const std::size_t of_table = size(shape.rows * shape.width),
                    count = size(nodes * batch * shape.numbers), wide = count * size(shape.width);
  const DeviceArray<float> parameters(size(nodes) * of_table), d_table(size(nodes) * of_table),
      out(wide), in = whole_numbers(count, std::array{92u});
  for (const auto* array : {&parameters, &out}) fill(table.stream, *array, 1);
  const Pass pass{.stream = table.stream.get(),
                  .nodes = nodes,
                  .batch = batch,
                  .parameters = parameters.data(),
                  .dimension = of_table};
  const Rows rows{.data = in.data(), .width = size(shape.numbers)};
  const auto moved = static_cast<double>(wide + count + size(nodes) * of_table);
  table.row("92 rows of 8, 80 steps: lookup", Precision::kFp32, {0, floats(moved)},
            [&] { look_up(pass, shape, rows, 0, out.data()); });
  table.row("92 rows of 8, 80 steps: gradient", Precision::kFp32,
            {static_cast<double>(wide), floats(moved)},
            [&] { look_up_gradient(pass, shape, rows, out.data(), d_table.data()); });
}

// MovieLens' users and items.
void bench_ratings(KernelTable& table, int nodes, int batch) {
  constexpr std::uint32_t kUsers = 610, kItems = 9'724;
  const RatingShape shape{.width = 20, .users = 0, .items = kUsers * 20};
  const std::size_t dimension = (kUsers + kItems) * size(shape.width),
                    samples = size(nodes * batch), terms = 2 * samples * size(shape.width);
  const DeviceArray<float> parameters(size(nodes) * dimension), d(size(nodes) * dimension),
      out(samples), d_out(samples), of_terms(terms),
      in = whole_numbers(2 * samples, std::array{kUsers, kItems});
  for (const auto* array : {&parameters, &d_out}) fill(table.stream, *array, 1);
  const DeviceArray<std::uint32_t> touched(2 * samples);
  const DeviceArray<StepRates> rates(size(nodes));
  table.stream.clear(rates.data(), rates.size() * sizeof(StepRates));
  const Pass pass{.stream = table.stream.get(),
                  .nodes = nodes,
                  .batch = batch,
                  .parameters = parameters.data(),
                  .dimension = dimension};
  const Rows rows{.data = in.data(), .width = 2};
  const RatingGradients gradients{of_terms.data(), touched.data()};
  const auto each = static_cast<double>(samples), all = static_cast<double>(terms);
  const auto row = [&](const char* what, double flops, double moved,
                       const std::function<void()>& run) {
    table.row(fmt::format("ratings of 20, batch {}: {}", batch, what), Precision::kFp32,
              {flops, floats(moved)}, run);
  };
  row("rate", all, all + 3 * each, [&] { rate(pass, shape, rows, out.data()); });
  row("gradient", all, 2 * all + 5 * each,
      [&] { rate_gradient(pass, shape, rows, d_out.data(), gradients); });
  row("gather", all, 2 * all + 2 * each, [&] {
    gather_touched(pass, shape, gradients, d.data(), dimension, d.data() + shape.items, dimension);
  });
  row("SGD", 2 * all, 3 * all + 2 * each,
      [&] { descend_touched(pass, shape, gradients, rates.data(), parameters.data()); });
}

// rows x terms x columns of one node.
struct ProductSize {
  int rows = 0, terms = 0, columns = 0;
  double flops() const { return 2.0 * rows * terms * columns; }
  double numbers() const {
    return 1.0 * rows * terms + 1.0 * terms * columns + 1.0 * rows * columns;
  }
};

}  // namespace

void bench_table_kernels(KernelTable& table, int nodes) {
  bench_table(table, nodes, 16);
  bench_ratings(table, nodes, 32);
}

void bench_lstm_kernels(KernelTable& table, int nodes, Precision precision) {
  constexpr int kSteps = 80, kUnits = 256, kGates = 4 * kUnits, kBatch = 16,
                kRows = kSteps * kBatch;
  const std::size_t rows = size(nodes * kRows), weights = size(kGates * kUnits);
  const DeviceArray<float> parameters(size(nodes) * weights), gates(rows * kGates),
      cells(rows * kUnits), states(rows * kUnits), d_states(rows * kUnits),
      d_weights(size(nodes) * weights), d_bias(size(nodes * lstm_tiles(kBatch) * kGates)),
      carried(size(nodes) * lstm_carried(kUnits, kBatch));
  for (const auto* array : {&parameters, &gates, &states, &d_states}) fill(table.stream, *array, 1);
  const Pass pass{table.stream.get(), nodes, kBatch, parameters.data(), weights, precision};
  const double rate = table.product_rate(precision);
  const auto product = [&](const char* what, const ProductSize& by, Factor a, Factor b,
                           float* out) {
    a.node_stride = a.data == parameters.data() ? weights : size(kRows * a.pitch);
    b.node_stride = b.data == parameters.data() ? weights : size(kRows * b.pitch);
    table.row(fmt::format("{} x {} x {}: {}", by.rows, by.terms, by.columns, what), rate,
              {nodes * by.flops(), floats(nodes * by.numbers())}, [&] {
                multiply(pass, {.rows = by.rows,
                                .columns = by.columns,
                                .terms = by.terms,
                                .a = a,
                                .b = b,
                                .out = out});
              });
  };
  const Factor inputs{.data = states.data(), .pitch = kUnits};
  const Factor of_weights{.data = parameters.data(), .pitch = kUnits};
  const Factor of_gates{.data = gates.data(), .pitch = kGates};
  const auto turned = [](Factor factor) {
    factor.turned = true;
    return factor;
  };
  product("product", {kRows, kUnits, kGates}, inputs, of_weights, gates.data());
  product("back", {kRows, kGates, kUnits}, of_gates, turned(of_weights), d_states.data());
  product("weights", {kGates, kRows, kUnits}, turned(of_gates), turned(inputs), d_weights.data());
  const LstmShape shape{.steps = kSteps, .units = kUnits};
  const LstmMemory memory{gates.data(), cells.data(), states.data(), nullptr};
  const double flops = 2.0 * static_cast<double>(rows) * kGates * kUnits,
               of_node = static_cast<double>(size(nodes) * weights);
  const auto numbers = [&](int each) { return floats(static_cast<double>(rows) * each + of_node); };
  table.row("80 steps, 256 units: LSTM", rate, {flops, numbers(2 * kGates + 2 * kUnits)},
            [&] { lstm_states(pass, shape, 0, memory); });
  table.row(
      "80 steps, 256 units: its gradient", rate, {flops, numbers(2 * kGates + 2 * kUnits)}, [&] {
        lstm_gradient(pass, shape, 0, memory, d_states.data(), {d_bias.data(), carried.data()});
      });
}

}  // namespace tessera::cuda
