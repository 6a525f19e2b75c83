#include "learn/layers/flatten.h"

#include <algorithm>

#include "base/check.h"
#include "learn/layers/cpu_layer.h"

namespace tessera {
namespace {

class Flatten final : public CpuLayer {
 public:
  explicit Flatten(const CpuPlace& place) : images_(place.layer.in.size() == 3) {
    const std::vector<std::uint32_t>& in = place.layer.in;
    CHECK((images_ || in.size() == 2));
    pixels_ = images_ ? std::size_t{in[1]} * in[2] : in[0];
    channels_ = images_ ? in[0] : in[1];
    out_.resize(place.batch_max * pixels_ * channels_);
    d_out_.resize(out_.size());
  }

  void forward(std::span<const float>, const float* in, std::size_t batch) override {
    batch_ = batch;
    for_runs([&](std::size_t row, std::size_t inside, std::size_t count) {
      std::copy_n(&in[inside], count, &out_[row]);
    });
  }
  void backward(std::span<const float>, std::span<float>, const float*, float* d_in) override {
    for_runs([&](std::size_t row, std::size_t inside, std::size_t count) {
      std::copy_n(&d_out_[row], count, &d_in[inside]);
    });
  }

  const float* out() const override { return out_.data(); }
  float* d_out() override { return d_out_.data(); }

 private:
  // Rows are walked in order; move(place in the rows, place in the activations, how many lie side
  // by side in both): a step of a sequence, one number of an image.
  template <typename Move>
  void for_runs(Move move) const {
    std::size_t row = 0;
    for (std::size_t n = 0; n < batch_; ++n)
      if (images_)
        for (std::size_t c = 0; c < channels_; ++c)
          for (std::size_t p = 0; p < pixels_; ++p)
            move(row++, (p * batch_ + n) * channels_ + c, 1);
      else
        for (std::size_t p = 0; p < pixels_; ++p, row += channels_)
          move(row, (p * batch_ + n) * channels_, channels_);
  }

  bool images_;
  // Of a sequence: its steps and its width.
  std::size_t pixels_ = 0, channels_ = 0, batch_ = 0;
  Floats64 out_, d_out_;
};

}  // namespace

std::unique_ptr<CpuLayer> make_flatten(const CpuPlace& place) {
  return std::make_unique<Flatten>(place);
}

}  // namespace tessera
