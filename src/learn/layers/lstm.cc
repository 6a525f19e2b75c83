#include "learn/layers/lstm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"
#include "learn/lstm_level.h"

namespace tessera {
namespace {

class CpuLstm final : public CpuLayer {
 public:
  CpuLstm(const Lstm& lstm, const CpuPlace& place)
      : inputs_(lstm.inputs), steps_(place.layer.in[0]) {
    CHECK(!place.first);
    for (std::size_t level = 0; level < lstm.levels; ++level)
      levels_.emplace_back(place.model, place.layer, level, place.batch_max);
    d_in_.resize(steps_ * place.batch_max * levels_.front().d_inputs());
  }

  void arrange(std::span<const float> flat, std::span<float> working) const override {
    for (const LstmLevel& level : levels_) level.arrange(flat, working);
  }
  void restore(std::span<const float> working, std::span<float> flat) const override {
    for (const LstmLevel& level : levels_) level.restore(working, flat);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    batch_ = batch;
    for (LstmLevel& level : levels_) {
      level.forward(parameters, in, batch);
      in = level.states();
    }
  }
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float* d_in) override {
    for (std::size_t i = levels_.size(); i-- > 0;)
      levels_[i].backward(parameters, gradient, i > 0 ? levels_[i - 1].states() : in,
                          i > 0 ? levels_[i - 1].d_states() : d_in_.data());
    // The first level's rows are rounded up to whole vectors.
    const std::size_t wide = levels_.front().d_inputs();
    for (std::size_t row = 0; row < steps_ * batch_; ++row)
      std::copy_n(&d_in_[row * wide], inputs_, d_in + row * inputs_);
  }

  const float* out() const override { return levels_.back().states(); }
  float* d_out() override { return levels_.back().d_states(); }

 private:
  std::size_t inputs_, steps_, batch_ = 0;
  std::vector<LstmLevel> levels_;
  Floats64 d_in_;
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
