#include "learn/layers/embedding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"

namespace tessera {
namespace {

class CpuEmbedding final : public CpuLayer {
 public:
  CpuEmbedding(const Embedding& table, const CpuPlace& place)
      : table_(table),
        weight_(place.offset(0)),
        steps_(place.layer.in[0]),
        out_(steps_ * place.batch_max * table.width),
        d_out_(out_.size()) {
    CHECK(place.first);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    batch_ = batch;
    for_tokens(in, [&](std::size_t row, std::size_t at) {
      std::copy_n(&parameters[weight_ + row * table_.width], table_.width, &out_[at]);
    });
  }
  void backward(std::span<const float>, std::span<float> gradient, const float* in,
                float*) override {
    std::fill_n(&gradient[weight_], std::size_t{table_.rows} * table_.width, 0.0f);
    for_tokens(in, [&](std::size_t row, std::size_t at) {
      for (std::size_t i = 0; i < table_.width; ++i)
        gradient[weight_ + row * table_.width + i] += d_out_[at + i];
    });
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  // move(row of the table, place in the activations), sample by sample.
  template <typename Move>
  void for_tokens(const float* in, Move move) const {
    for (std::size_t n = 0; n < batch_; ++n)
      for (std::size_t step = 0; step < steps_; ++step) {
        const auto row = static_cast<std::size_t>(in[n * steps_ + step]);
        CHECK(row < table_.rows);
        move(row, (step * batch_ + n) * table_.width);
      }
  }

  Embedding table_;
  std::size_t weight_, steps_, batch_ = 0;
  Floats64 out_, d_out_;
};

}  // namespace

Embedding add_embedding(ModelBuilder& builder, std::string_view name, const Embedding& wanted) {
  CHECK(builder.shape().size() == 1);
  builder.parameter(fmt::format("{}.weight", name), {wanted.rows, wanted.width}, normal(1));
  builder.reshape({builder.shape()[0], wanted.width});
  return wanted;
}

std::unique_ptr<CpuLayer> make_cpu(const Embedding& embedding, const CpuPlace& place) {
  return std::make_unique<CpuEmbedding>(embedding, place);
}

}  // namespace tessera
