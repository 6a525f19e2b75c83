#include "sharing/transform.h"

#include <kissfft/kiss_fftr.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/ids.h"
#include "base/table.h"
#include "math/wavelet.h"

namespace tessera {
namespace {

class Identity final : public Transform {
 public:
  explicit Identity(std::size_t length) : length_(length) {}
  std::size_t coefficients() const override { return length_; }
  void forward(std::span<const float> values, std::span<float> coefficients) const override {
    std::copy(values.begin(), values.end(), coefficients.begin());
  }
  void inverse(std::span<const float> coefficients, std::span<float> values) const override {
    std::copy(coefficients.begin(), coefficients.end(), values.begin());
  }

 private:
  std::size_t length_;
};

class Wavelet final : public Transform {
 public:
  explicit Wavelet(WaveletPlan plan) : plan_(std::move(plan)) {}
  std::size_t coefficients() const override { return plan_.coefficients(); }
  void forward(std::span<const float> values, std::span<float> coefficients) const override {
    wavelet_forward(plan_, values, coefficients);
  }
  void inverse(std::span<const float> coefficients, std::span<float> values) const override {
    wavelet_inverse(plan_, coefficients, values);
  }

 private:
  WaveletPlan plan_;
};

// The real Fourier transform, scaled to keep lengths, its real and imaginary parts side by side.
// The vector is filled up with zeros to a length of small factors: models have prime ones (89,834 =
// 2 x 44,917), whose transform would take as long as training.
class Fourier final : public Transform {
 public:
  explicit Fourier(std::size_t length)
      : length_(length),
        padded_(static_cast<std::size_t>(kiss_fftr_next_fast_size_real(static_cast<int>(length)))),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(padded_)))),
        forward_(kiss_fftr_alloc(static_cast<int>(padded_), 0, nullptr, nullptr)),
        inverse_(kiss_fftr_alloc(static_cast<int>(padded_), 1, nullptr, nullptr)) {
    CHECK(forward_ != nullptr);
    CHECK(inverse_ != nullptr);
  }

  std::size_t coefficients() const override { return padded_ + 2; }

  void forward(std::span<const float> values, std::span<float> coefficients) const override {
    Vector padded(values.begin(), values.end());
    padded.resize(padded_);
    std::vector<kiss_fft_cpx> spectrum(padded_ / 2 + 1);
    kiss_fftr(forward_.get(), padded.data(), spectrum.data());
    for (std::size_t i = 0; i < spectrum.size(); ++i) {
      coefficients[2 * i] = spectrum[i].r * scale_;
      coefficients[2 * i + 1] = spectrum[i].i * scale_;
    }
  }

  void inverse(std::span<const float> coefficients, std::span<float> values) const override {
    std::vector<kiss_fft_cpx> spectrum(padded_ / 2 + 1);
    for (std::size_t i = 0; i < spectrum.size(); ++i)
      spectrum[i] = {coefficients[2 * i] * scale_, coefficients[2 * i + 1] * scale_};
    Vector padded(padded_);
    kiss_fftri(inverse_.get(), spectrum.data(), padded.data());
    std::copy_n(padded.begin(), length_, values.begin());
  }

 private:
  struct Free {
    void operator()(kiss_fftr_state* state) const { kiss_fftr_free(state); }
  };
  std::size_t length_, padded_;
  float scale_;
  // The plans hold scratch memory; each node has a transform of its own and uses it from one thread
  // at a time.
  std::unique_ptr<kiss_fftr_state, Free> forward_, inverse_;
};

std::unique_ptr<Transform> make_identity(Options&, std::size_t length) {
  return std::make_unique<Identity>(length);
}

std::unique_ptr<Transform> make_wavelet(Options& options, std::size_t length) {
  const std::string filter = options.text("wavelet", "sym2");
  const auto levels = static_cast<int>(options.integer("levels", 4, between(1, kWaveletLevelsMax)));
  return std::make_unique<Wavelet>(plan_wavelet(filter, levels, length));
}

std::unique_ptr<Transform> make_fourier(Options&, std::size_t length) {
  return std::make_unique<Fourier>(length);
}

constexpr std::array kTransforms = {
    TransformKind{"none", "rank the parameters themselves", make_identity},
    TransformKind{"wavelet", "rank wavelet coefficients (wavelet=…, levels=…)", make_wavelet},
    TransformKind{"fft", "rank Fourier coefficients, real and imaginary parts apart", make_fourier},
};

}  // namespace

std::span<const TransformKind> transforms() {
  return kTransforms;
}

std::unique_ptr<Transform> make_transform(std::string_view name, Options& options,
                                          std::size_t length) {
  return require_entry(transforms(), "transform", name).make(options, length);
}

}  // namespace tessera
