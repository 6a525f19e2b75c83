#include "learn/layers/lstm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"
#include "learn/lstm_level.h"
#include "learn/norm_kernels.h"

namespace tessera {
namespace {

class CpuLstm final : public CpuLayer {
 public:
  CpuLstm(const Lstm& lstm, const CpuPlace& place)
      : relu_(place.relu), inputs_(lstm.inputs), steps_(place.layer.in[0]) {
    CHECK(!place.first);
    for (std::size_t level = 0; level < lstm.levels; ++level)
      levels_.emplace_back(place.model, place.layer, level, place.batch_max);
    const LstmLevel& first = levels_.front();
    x_.resize(first.panel_size(place.batch_max) * first.d_inputs() / kPanel);
    d_in_.resize(steps_ * place.batch_max * first.d_inputs());
    out_.resize(steps_ * place.batch_max * levels_.back().units());
  }

  void arrange(std::span<const float> flat, std::span<float> working) const override {
    for (const LstmLevel& level : levels_) level.arrange(flat, working);
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    for (const LstmLevel& level : levels_) level.restore(working, flat);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    batch_ = batch;
    for_panels(inputs_, [&](std::size_t row, std::size_t panel, std::size_t count) {
      std::copy_n(in + row, count, &x_[panel]);
    });
    const float* x = x_.data();
    for (LstmLevel& level : levels_) {
      level.forward(parameters, x, batch);
      x = level.states();
    }
    for_panels(levels_.back().units(), [&](std::size_t row, std::size_t panel, std::size_t count) {
      std::copy_n(x + panel, count, &out_[row]);
    });
    if (relu_) relu(steps_ * batch * levels_.back().units(), out_.data(), out_.data());
  }
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override {
    descend(parameters, gradient, in, d_in, {}, {});
  }
  // The levels update their own.
  void descend(std::span<const float> parameters, std::span<float> gradient, const float* /*in*/,
               float* d_in, Extent /*own*/, const Update& update) override {
    if (relu_) relu_gradient(steps_ * batch_ * levels_.back().units(), out_.data(), d_out());
    for (std::size_t i = levels_.size(); i-- > 0;)
      levels_[i].backward(parameters, gradient, i > 0 ? levels_[i - 1].states() : x_.data(),
                          i > 0 ? levels_[i - 1].d_states() : d_in_.data(), update);
    // The first level's rows are rounded up to whole vectors.
    const std::size_t wide = levels_.front().d_inputs();
    for (std::size_t row = 0; row < steps_ * batch_; ++row)
      std::copy_n(&d_in_[row * wide], inputs_, d_in + row * inputs_);
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return levels_.back().d_states(); }

 private:
  // Rows of `width` numbers against panels: move(place in the rows, in the panels, how many).
  template <typename Move>
  void for_panels(std::size_t width, Move move) const {
    for (std::size_t first = 0; first < width; first += kPanel) {
      const std::size_t panel = first / kPanel * levels_.front().panel_size(batch_);
      for (std::size_t row = 0; row < steps_ * batch_; ++row)
        move(row * width + first, panel + row * kPanel, std::min(kPanel, width - first));
    }
  }

  bool relu_;
  std::size_t inputs_, steps_, batch_ = 0;
  std::vector<LstmLevel> levels_;
  Floats64 x_, d_in_, out_;  // x_ in panels.
};

}  // namespace

Lstm add_lstm(ModelBuilder& builder, std::string_view name, const Lstm& wanted) {
  CHECK(builder.shape().size() == 2);
  const std::uint32_t steps = builder.shape()[0], units = wanted.units;
  Lstm made = wanted;
  made.inputs = builder.shape()[1];
  const Initial initial = uniform(1 / std::sqrt(double{1} * units));
  for (std::uint32_t level = 0; level < made.levels; ++level) {
    const std::uint32_t inputs = level == 0 ? made.inputs : units;
    builder.parameter(fmt::format("{}.weight_ih_l{}", name, level), {4 * units, inputs}, initial);
    builder.parameter(fmt::format("{}.weight_hh_l{}", name, level), {4 * units, units}, initial);
    builder.parameter(fmt::format("{}.bias_ih_l{}", name, level), {4 * units}, initial);
    builder.parameter(fmt::format("{}.bias_hh_l{}", name, level), {4 * units}, initial);
  }
  builder.reshape({steps, units});
  return made;
}

std::unique_ptr<CpuLayer> make_cpu(const Lstm& lstm, const CpuPlace& place) {
  return std::make_unique<CpuLstm>(lstm, place);
}

}  // namespace tessera
