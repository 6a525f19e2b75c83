#include "learn/plain_model.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace tessera::plain {
namespace {

using Numbers = std::vector<double>;

Numbers run(const Model& model, std::span<const double> flat, const std::vector<Layer>& layers,
            Numbers x);

double dot(std::size_t count, const double* a, const double* b) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// One layer on one sample: images are [channels][height][width], sequences [steps][width].
struct Apply {
  const Model& model;
  std::span<const double> flat;
  const Layer& layer;
  const Numbers& x;

  std::span<const double> parameter(std::size_t i) const {
    const Parameter& p = model.parameters[layer.first_parameter + i];
    return flat.subspan(p.offset, p.size);
  }
  std::size_t in(std::size_t i) const { return layer.in[i]; }

  Numbers operator()(const Convolution& c) const {
    const std::size_t pad = c.kernel / 2, taps = std::size_t{c.kernel} * c.kernel;
    const std::size_t high = in(1), wide = in(2);
    const std::size_t out_high = (high + c.stride - 1) / c.stride,
                      out_wide = (wide + c.stride - 1) / c.stride;
    const std::span<const double> weight = parameter(0);
    Numbers out;
    for (std::size_t o = 0; o < c.outputs; ++o)
      for (std::size_t p = 0; p < out_high * out_wide; ++p) {
        double sum = parameter(1)[o];
        for (std::size_t tap = 0; tap < taps; ++tap) {
          const std::size_t y = p / out_wide * c.stride + tap / c.kernel,
                            across = p % out_wide * c.stride + tap % c.kernel;
          if (y < pad || y >= high + pad || across < pad || across >= wide + pad) continue;
          // Pointers, since these loops are compiled without optimisation, and checked.
          const double* const w = &weight[o * in(0) * taps + tap];
          const double* const image = &x[(y - pad) * wide + across - pad];
          for (std::size_t i = 0; i < in(0); ++i) sum += w[i * taps] * image[i * high * wide];
        }
        out.push_back(sum);
      }
    return out;
  }

  Numbers operator()(const GroupNorm& norm) const {
    const std::size_t pixels = in(1) * in(2), count = x.size() / norm.groups;
    Numbers out = x;
    for (std::size_t start = 0; start < x.size(); start += count) {
      double mean = 0, variance = 0;
      for (std::size_t i = start; i < start + count; ++i) mean += x[i] / static_cast<double>(count);
      for (std::size_t i = start; i < start + count; ++i)
        variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(count);
      for (std::size_t i = start; i < start + count; ++i)
        out[i] = parameter(0)[i / pixels] * (x[i] - mean) / std::sqrt(variance + 1e-5) +
                 parameter(1)[i / pixels];
    }
    return out;
  }

  Numbers operator()(const Relu&) const {
    Numbers out = x;
    for (double& value : out) value = std::max(value, 0.0);
    return out;
  }

  Numbers operator()(const MaxPool&) const {
    Numbers out;
    for (std::size_t c = 0; c < in(0); ++c)
      for (std::size_t y = 0; y + 1 < in(1); y += 2)
        for (std::size_t across = 0; across + 1 < in(2); across += 2) {
          const double* const corner = &x[(c * in(1) + y) * in(2) + across];
          out.push_back(std::max({corner[0], corner[1], corner[in(2)], corner[in(2) + 1]}));
        }
    return out;
  }

  Numbers operator()(const MeanPool&) const {
    Numbers out(in(0));
    const std::size_t pixels = in(1) * in(2);
    for (std::size_t i = 0; i < x.size(); ++i)
      out[i / pixels] += x[i] / static_cast<double>(pixels);
    return out;
  }

  Numbers operator()(const Linear& linear) const {
    const std::span<const double> weight = parameter(0);
    Numbers out;
    for (std::size_t o = 0; o < linear.outputs; ++o)
      out.push_back(parameter(1)[o] + dot(linear.inputs, &weight[o * linear.inputs], x.data()));
    return out;
  }

  Numbers operator()(const Embedding& table) const {
    Numbers out;
    for (const double token : x)
      for (std::size_t i = 0; i < table.width; ++i)
        out.push_back(parameter(0)[static_cast<std::size_t>(token) * table.width + i]);
    return out;
  }

  Numbers level(const Lstm& lstm, std::size_t number, const Numbers& sequence) const {
    const std::size_t units = lstm.units, width = sequence.size() / in(0);
    const std::span<const double> from_input = parameter(4 * number),
                                  from_state = parameter(4 * number + 1);
    Numbers c(units), h(units), out;
    for (std::size_t step = 0; step < in(0); ++step) {
      Numbers gates(4 * units);
      for (std::size_t g = 0; g < 4 * units; ++g) {
        gates[g] = parameter(4 * number + 2)[g] + parameter(4 * number + 3)[g];
        gates[g] += dot(width, &from_input[g * width], &sequence[step * width]) +
                    dot(units, &from_state[g * units], h.data());
      }
      for (std::size_t u = 0; u < units; ++u) {
        c[u] =
            sigmoid(gates[units + u]) * c[u] + sigmoid(gates[u]) * std::tanh(gates[2 * units + u]);
        h[u] = sigmoid(gates[3 * units + u]) * std::tanh(c[u]);
      }
      out.insert(out.end(), h.begin(), h.end());
    }
    return out;
  }

  Numbers operator()(const Lstm& lstm) const {
    Numbers states = x;
    for (std::size_t number = 0; number < lstm.levels; ++number)
      states = level(lstm, number, states);
    return states;
  }

  Numbers operator()(const Factorization& factors) const {
    double sum = 0;
    for (std::size_t k = 0; k < factors.width; ++k)
      sum += parameter(0)[static_cast<std::size_t>(x[0]) * factors.width + k] *
             parameter(1)[static_cast<std::size_t>(x[1]) * factors.width + k];
    return {sum};
  }

  Numbers operator()(const Residual& residual) const {
    Numbers out = run(model, flat, residual.body, x);
    const Numbers skip = run(model, flat, residual.shortcut, x);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += skip[i];
    return out;
  }
};

Numbers run(const Model& model, std::span<const double> flat, const std::vector<Layer>& layers,
            Numbers x) {
  for (const Layer& layer : layers) x = std::visit(Apply{model, flat, layer, x}, layer.kind);
  return x;
}

}  // namespace

std::vector<double> predict(const Model& model, std::span<const double> flat,
                            std::span<const float> sample) {
  return run(model, flat, model.layers, Numbers(sample.begin(), sample.end()));
}

double loss(const Model& model, std::span<const double> flat, const Batch& batch) {
  const std::size_t width = batch.features.size() / batch.size();
  double sum = 0;
  for (std::size_t n = 0; n < batch.size(); ++n) {
    const Numbers out = predict(model, flat, batch.features.subspan(n * width, width));
    const double target = double{batch.targets[n]};
    if (model.task.classes == 0) {
      sum += (out[0] - target) * (out[0] - target);
      continue;
    }
    double total = 0;
    for (const double value : out) total += std::exp(value);
    sum += std::log(total) - out[static_cast<std::size_t>(target)];
  }
  return sum / static_cast<double>(batch.size());
}

}  // namespace tessera::plain
