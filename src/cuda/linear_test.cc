// Linear layers beside plain loops. Forward in double precision, since lanes share an output's sum;
// gradients to the bit, since a thread adds samples or outputs in their order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/for_tests.h"
#include "cuda/kernels.h"
#include "cuda/poisoned_for_tests.h"

namespace tessera::cuda {
namespace {

constexpr std::size_t kNodes = 3, kSamples = 50;

// More inputs, and more outputs, than a block has threads; by fours and not; one of each.
constexpr LinearShape kShapes[] = {
    {300, 10, false}, {37, 261, true}, {260, 9, true}, {1, 1, false}};
constexpr std::size_t kBatches[] = {1, 5, 8, 11, 19};

// Layers of all nodes, on samples chosen from a dataset or on rows that lie one after the other.
struct Layers {
  Layers(const LinearShape& its_shape, std::size_t its_batch, bool by_choice)
      : shape(its_shape),
        inputs(static_cast<std::size_t>(shape.inputs)),
        outputs(static_cast<std::size_t>(shape.outputs)),
        batch(its_batch),
        chosen(by_choice ? drawn_below(kSamples, kNodes * batch, 9) : std::vector<std::uint32_t>()),
        device_chosen(sent(chosen)) {}

  std::size_t bias_at() const { return (4 + inputs * outputs + 3) / 4 * 4; }
  std::size_t dimension() const { return (bias_at() + outputs + 3) / 4 * 4; }
  Pass pass() const {
    return {.nodes = static_cast<int>(kNodes),
            .batch = static_cast<int>(batch),
            .parameters = parameters.device(),
            .dimension = dimension()};
  }
  Rows rows() const {
    return {.data = in.device(),
            .width = inputs,
            .chosen = chosen.empty() ? nullptr : device_chosen.data(),
            .chosen_stride = batch};
  }
  float x(std::size_t row, std::size_t input) const {
    return in.host[(chosen.empty() ? row : chosen[row]) * inputs + input];
  }
  float weight(std::size_t node, std::size_t output, std::size_t input) const {
    return parameters.host[node * dimension() + 4 + output * inputs + input];
  }
  float bias(std::size_t node, std::size_t output) const {
    return parameters.host[node * dimension() + bias_at() + output];
  }

  LinearShape shape;
  std::size_t inputs, outputs, batch;
  std::vector<std::uint32_t> chosen;
  DeviceArray<std::uint32_t> device_chosen;
  Numbers in{(kNodes * 19 + kSamples) * inputs, 1}, parameters{kNodes * dimension(), 2};
};

// check(layers) for every shape and batch.
template <typename Check>
void for_all(const Check& check) {
  for (const LinearShape& shape : kShapes)
    for (const std::size_t batch : kBatches)
      for (const bool by_choice : {false, true}) {
        SCOPED_TRACE(fmt::format("{} to {}, batch {}{}", shape.inputs, shape.outputs, batch,
                                 by_choice ? ", chosen" : ""));
        check(Layers(shape, batch, by_choice));
      }
}

TEST(CudaLinear, IsThatOfPlainLoops) {
  SKIP_WITHOUT_GPU();
  for_all([](const Layers& all) {
    const Poisoned out(kNodes * all.batch * all.outputs);
    linear(all.pass(), all.shape, all.rows(), 4, all.bias_at(), out.device());
    Doubles wanted;
    for (std::size_t row = 0; row < kNodes * all.batch; ++row)
      for (std::size_t output = 0; output < all.outputs; ++output) {
        const std::size_t node = row / all.batch;
        double sum = double{all.bias(node, output)};
        for (std::size_t input = 0; input < all.inputs; ++input)
          sum += double{all.x(row, input)} * double{all.weight(node, output, input)};
        wanted.push_back(all.shape.relu ? std::max(sum, 0.0) : sum);
      }
    EXPECT_LT(error_of(out.back(), wanted), 1e-6);
  });
}

struct WantedGradients {
  explicit WantedGradients(const Layers& all, const Vector& out, Vector from)
      : d_out(std::move(from)),
        d_in(kNodes * all.batch * all.inputs),
        d_weights(kNodes * all.outputs * all.inputs),
        d_bias(kNodes * all.outputs) {
    for (std::size_t row = 0; row < kNodes * all.batch; ++row)
      for (std::size_t output = 0; output < all.outputs; ++output) {
        const std::size_t node = row / all.batch, at = row * all.outputs + output;
        if (all.shape.relu && out[at] <= 0) d_out[at] = 0;
        d_bias[node * all.outputs + output] += d_out[at];
        for (std::size_t input = 0; input < all.inputs; ++input) {
          float& to_weight = d_weights[(node * all.outputs + output) * all.inputs + input];
          float& to_input = d_in[row * all.inputs + input];
          to_weight = std::fma(d_out[at], all.x(row, input), to_weight);
          to_input = std::fma(d_out[at], all.weight(node, output, input), to_input);
        }
      }
  }
  Vector d_out, d_in, d_weights, d_bias;
};

TEST(CudaLinear, GradientsAreThoseOfPlainLoopsToTheBit) {
  SKIP_WITHOUT_GPU();
  for_all([](const Layers& all) {
    const Numbers out(kNodes * all.batch * all.outputs, 3);
    const WantedGradients wanted(all, out.host, Numbers(out.host.size(), 4).host);
    for (const bool inputs_too : {true, false}) {
      const Numbers d_out(out.host.size(), 4);
      const Poisoned d_in(wanted.d_in.size()), d_weights(wanted.d_weights.size()),
          d_bias(wanted.d_bias.size());
      linear_gradient(all.pass(), all.shape, all.rows(), 4, out.device(), d_out.device(),
                      inputs_too ? d_in.device() : nullptr, {d_weights.device(), d_bias.device()});
      EXPECT_EQ(d_out.back(), wanted.d_out);
      EXPECT_EQ(d_weights.back(), wanted.d_weights);
      EXPECT_EQ(d_bias.back(), wanted.d_bias);
      if (inputs_too) {
        EXPECT_EQ(d_in.back(), wanted.d_in);
      }
    }
  });
}

}  // namespace
}  // namespace tessera::cuda
