#include "learn/layers/factorization.h"

#include <algorithm>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"

namespace tessera {
namespace {

class CpuFactorization final : public CpuLayer {
 public:
  CpuFactorization(const Factorization& factors, const CpuPlace& place)
      : factors_(factors),
        users_(place.offset(0)),
        items_(place.offset(1)),
        out_(place.batch_max),
        d_out_(place.batch_max) {
    CHECK(place.first);
  }

  void forward(std::span<const float> parameters, const float* in, std::size_t batch) override {
    batch_ = batch;
    for (std::size_t n = 0; n < batch; ++n) {
      const auto [user, item] = rows_of(in + 2 * n);
      float sum = 0;
      for (std::size_t k = 0; k < factors_.width; ++k)
        sum += parameters[user + k] * parameters[item + k];
      out_[n] = sum;
    }
  }

  // A batch touches a few of many thousand rows: the others are zero since the first time, and only
  // what the last batch left is cleared.
  void backward(std::span<const float> parameters, std::span<float> gradient, const float* in,
                float*) override {
    if (touched_.empty()) {
      std::fill_n(&gradient[users_], std::size_t{factors_.users} * factors_.width, 0.0f);
      std::fill_n(&gradient[items_], std::size_t{factors_.items} * factors_.width, 0.0f);
    }
    for (const std::size_t row : touched_) std::fill_n(&gradient[row], factors_.width, 0.0f);
    touched_.clear();
    for (std::size_t n = 0; n < batch_; ++n) {
      const auto [user, item] = rows_of(in + 2 * n);
      for (std::size_t k = 0; k < factors_.width; ++k) {
        gradient[user + k] += d_out_[n] * parameters[item + k];
        gradient[item + k] += d_out_[n] * parameters[user + k];
      }
      touched_.push_back(user);
      touched_.push_back(item);
    }
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  struct Rows {
    std::size_t user, item;  // Offsets in the flat vector.
  };
  Rows rows_of(const float* sample) const {
    const auto user = static_cast<std::size_t>(sample[0]);
    const auto item = static_cast<std::size_t>(sample[1]);
    CHECK(user < factors_.users);
    CHECK(item < factors_.items);
    return {users_ + user * factors_.width, items_ + item * factors_.width};
  }

  Factorization factors_;
  std::size_t users_, items_, batch_ = 0;
  Floats64 out_, d_out_;
  std::vector<std::size_t> touched_;  // Rows of the gradient that are not zero.
};

}  // namespace

Factorization add_factorization(ModelBuilder& builder, const Factorization& wanted) {
  builder.parameter("user_factors.weight", {wanted.users, wanted.width}, uniform(0.05));
  builder.parameter("item_factors.weight", {wanted.items, wanted.width}, uniform(0.05));
  builder.reshape({1});
  return wanted;
}

std::unique_ptr<CpuLayer> make_cpu(const Factorization& factors, const CpuPlace& place) {
  return std::make_unique<CpuFactorization>(factors, place);
}

}  // namespace tessera
