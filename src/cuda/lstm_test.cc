// An LSTM level on the GPU beside its formulas in double precision, in one launch and step by step.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cuda/for_tests.h"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

constexpr int kNodes = 2;

std::size_t whole(int count) {
  return static_cast<std::size_t>(count);
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

struct Sizes {
  int units = 0, steps = 0, batch = 0;
  std::size_t states() const { return whole(kNodes * batch * steps * units); }
};

// One sample's way there and back: `gates` are inputs, then values, then gradients.
class PlainLstm {
 public:
  PlainLstm(const Sizes& sizes, const float* weights, const float* gates)
      : sizes_(sizes),
        weights_(weights),
        gates(gates, gates + 4 * sizes.steps * sizes.units),
        cells_(whole(sizes.steps * sizes.units)) {
    states.resize(cells_.size());
    for (int step = 0; step < sizes_.steps; ++step) forward(step);
  }

  void back(const float* d_out, bool relu) {
    Doubles d_c(whole(sizes_.units)), later(whole(sizes_.units));
    for (int step = sizes_.steps; step-- > 0;) {
      for (int u = 0; u < sizes_.units; ++u) {
        const double above = relu && state(step, u) <= 0 ? 0 : double{d_out[at(step, u)]};
        back(step, u, above + later[whole(u)], d_c[whole(u)]);
      }
      for (int u = 0; u < sizes_.units; ++u) {
        later[whole(u)] = 0;
        for (int row = 0; row < 4 * sizes_.units; ++row)
          later[whole(u)] += gates[gate_at(step, row)] * weight(row, u);
      }
    }
  }

 private:
  std::size_t at(int step, int u) const { return whole(step * sizes_.units + u); }
  std::size_t gate_at(int step, int row) const { return whole(step * 4 * sizes_.units + row); }
  double weight(int row, int u) const { return double{weights_[row * sizes_.units + u]}; }
  double state(int step, int u) const { return states[at(step, u)]; }
  double& gate(int step, int which, int u) {
    return gates[gate_at(step, which * sizes_.units + u)];
  }

  void forward(int step) {
    for (int row = 0; step > 0 && row < 4 * sizes_.units; ++row)
      for (int u = 0; u < sizes_.units; ++u)
        gates[gate_at(step, row)] += weight(row, u) * state(step - 1, u);
    for (int u = 0; u < sizes_.units; ++u) {
      for (const int which : {0, 1, 3}) gate(step, which, u) = sigmoid(gate(step, which, u));
      gate(step, 2, u) = std::tanh(gate(step, 2, u));
      const double before = step > 0 ? cells_[at(step - 1, u)] : 0;
      cells_[at(step, u)] = gate(step, 1, u) * before + gate(step, 0, u) * gate(step, 2, u);
      states[at(step, u)] = gate(step, 3, u) * std::tanh(cells_[at(step, u)]);
    }
  }
  void back(int step, int u, double d_h, double& d_c) {
    double &i = gate(step, 0, u), &f = gate(step, 1, u), &g = gate(step, 2, u),
           &o = gate(step, 3, u);
    const double squashed = std::tanh(cells_[at(step, u)]);
    const double before = step > 0 ? cells_[at(step - 1, u)] : 0;
    const double dc = d_c + d_h * o * (1 - squashed * squashed), kept = f;
    const double d_i = dc * g * i * (1 - i);
    g = dc * i * (1 - g * g);
    i = d_i;
    f = dc * before * f * (1 - f);
    o = d_h * squashed * o * (1 - o);
    d_c = dc * kept;
  }

  Sizes sizes_;
  const float* weights_;

 public:
  Doubles gates, states{};

 private:
  Doubles cells_;
};

// A level of every node on the device.
struct Level {
  explicit Level(const Sizes& chosen)
      : sizes(chosen),
        weights(whole(kNodes * 4 * chosen.units * chosen.units), 1),
        gates(4 * chosen.states(), 2),
        cells(chosen.states(), 3),
        states(chosen.states(), 4),
        out(chosen.states(), 5),
        d_out(chosen.states(), 6),
        bias(whole(kNodes * lstm_tiles(chosen.batch) * 4 * chosen.units), 7),
        carried(kNodes * lstm_carried(chosen.units, chosen.batch), 8) {
    for (float& weight : weights.host) weight /= std::sqrt(static_cast<float>(sizes.units));
    weights.send();
  }
  void run(Precision precision, bool relu, bool stepwise) const {
    gates.send();
    const Pass pass{.nodes = kNodes,
                    .batch = sizes.batch,
                    .parameters = weights.device(),
                    .dimension = whole(4 * sizes.units * sizes.units),
                    .precision = precision};
    const LstmShape shape{sizes.steps, sizes.units, relu, stepwise};
    const LstmMemory memory{gates.device(), cells.device(), states.device(), out.device()};
    lstm_states(pass, shape, 0, memory);
    lstm_gradient(pass, shape, 0, memory, d_out.device(), {bias.device(), carried.device()});
  }
  // What was found of the biases' gradients, its parts added up.
  Vector bias_back() const {
    const Vector parts = bias.back();
    const std::size_t width = whole(4 * sizes.units), count = whole(lstm_tiles(sizes.batch));
    Vector sums(kNodes * width);
    for (std::size_t i = 0; i < parts.size(); ++i)
      sums[i / (width * count) * width + i % width] += parts[i];
    return sums;
  }

  Sizes sizes;
  Numbers weights, gates, cells, states, out, d_out, bias, carried;
};

struct Wanted {
  Doubles states{}, gates{}, bias{};
};

Wanted wanted_of(const Level& level, bool relu) {
  const Sizes& sizes = level.sizes;
  const std::size_t width = whole(sizes.steps * sizes.units), gates = whole(4 * sizes.units);
  Wanted wanted{.bias = Doubles(kNodes * gates)};
  for (std::size_t sample = 0; sample < whole(kNodes * sizes.batch); ++sample) {
    const std::size_t node = sample / whole(sizes.batch);
    PlainLstm plain(sizes, &level.weights.host[node * gates * whole(sizes.units)],
                    &level.gates.host[sample * 4 * width]);
    plain.back(&level.d_out.host[sample * width], relu);
    wanted.states.insert(wanted.states.end(), plain.states.begin(), plain.states.end());
    wanted.gates.insert(wanted.gates.end(), plain.gates.begin(), plain.gates.end());
    for (std::size_t i = 0; i < plain.gates.size(); ++i)
      wanted.bias[node * gates + i % gates] += plain.gates[i];
  }
  return wanted;
}

TEST(CudaLstm, GoesThereAndBackAsItsFormulasSay) {
  SKIP_WITHOUT_GPU();
  for (const Sizes& sizes :
       {Sizes{32, 3, 5}, Sizes{64, 1, 16}, Sizes{128, 4, 2}, Sizes{256, 6, 3}, Sizes{256, 5, 21}}) {
    const Level level(sizes);
    for (const bool relu : {false, true}) {
      const Wanted wanted = wanted_of(level, relu);
      for (const auto precision : {Precision::kFp32, Precision::k3xTf32, Precision::kTf32}) {
        SCOPED_TRACE(fmt::format("{} units, {} steps, {} samples, relu {}, {}", sizes.units,
                                 sizes.steps, sizes.batch, relu, to_string(precision)));
        const double most = precision == Precision::kTf32 ? 5e-3 : 5e-6;
        level.run(precision, relu, false);
        EXPECT_LT(error_of(level.states.back(), wanted.states), most);
        EXPECT_LT(error_of(level.gates.back(), wanted.gates), most);
        EXPECT_LT(error_of(level.bias_back(), wanted.bias), most);
      }
    }
  }
}

TEST(CudaLstm, StepByStepIsTheSameBitForBit) {
  SKIP_WITHOUT_GPU();
  for (const Sizes& sizes : {Sizes{32, 7, 5}, Sizes{256, 4, 21}}) {
    const Level level(sizes);
    for (const auto precision : {Precision::kFp32, Precision::k3xTf32}) {
      level.run(precision, true, false);
      const Vector states = level.states.back(), gates = level.gates.back(), out = level.out.back(),
                   bias = level.bias_back();
      level.run(precision, true, true);
      EXPECT_EQ(level.states.back(), states);
      EXPECT_EQ(level.out.back(), out);
      EXPECT_EQ(level.gates.back(), gates);
      EXPECT_EQ(level.bias_back(), bias);
    }
  }
}

}  // namespace
}  // namespace tessera::cuda
