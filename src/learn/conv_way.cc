#include "learn/conv_way.h"

#include <algorithm>

#include "learn/conv_amx.h"
#include "learn/conv_amx_first.h"
#include "learn/conv_bf16.h"
#include "learn/floats.h"
#include "learn/winograd.h"
#include "learn/winograd_first.h"

namespace tessera {
namespace {

class Direct final : public ConvWay {
 public:
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    convolve(shape, in, weights, bias, out);
  }
  void backward(const ConvShape& shape, const float* in, const float* d_out, const float* turned,
                float* d_weights, float* d_in) override {
    convolve_weights(shape, in, d_out, d_weights);
    if (d_in) convolve_inputs(shape, d_out, turned, d_in);
  }
};

class DirectBf16 final : public ConvWay {
 public:
  explicit DirectBf16(const ConvShape& largest) : space_(largest, /*first=*/false) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    bf16::convolve(shape, in, weights, bias, out, space_);
  }
  void backward(const ConvShape& shape, const float* in, const float* d_out, const float* turned,
                float* d_weights, float* d_in) override {
    bf16::convolve_weights(shape, in, d_out, d_weights, space_);
    if (d_in) bf16::convolve_inputs(shape, d_out, turned, d_in, space_);
  }

 private:
  bf16::ConvSpace space_;
};

class Amx final : public ConvWay {
 public:
  explicit Amx(const ConvShape& largest) : space_(largest) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    amx::convolve(shape, in, weights, bias, out, space_);
  }
  void backward(const ConvShape& shape, const float* in, const float* d_out, const float* turned,
                float* d_weights, float* d_in) override {
    amx::convolve_weights(shape, in, d_out, d_weights, space_);
    if (d_in) amx::convolve_inputs(shape, d_out, turned, d_in, space_);
  }

 private:
  amx::ConvSpace space_;
};

class Winograd final : public ConvWay {
 public:
  Winograd(const ConvShape& largest, bool in_bf16) : space_(largest, in_bf16) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    winograd(shape, in, weights, bias, out, space_);
  }
  void backward(const ConvShape& shape, const float* /*in*/, const float* d_out,
                const float* turned, float* d_weights, float* d_in) override {
    winograd_backward(shape, d_out, turned, d_weights, d_in, space_);
  }

 private:
  WinogradSpace space_;
};

// The samples as the first layer's direct kernels read them, between zeros.
class PaddedLines {
 public:
  explicit PaddedLines(const ConvShape& largest)
      : lines_(largest.height * largest.batch * length_of(largest)) {}
  void read(const ConvShape& shape, const float* samples) {
    // The zeros at both ends of a line stay; lines move when the batch changes its size.
    if (shape.batch != batch_) std::fill(lines_.begin(), lines_.end(), 0.0f);
    batch_ = shape.batch;
    for (std::size_t n = 0; n < shape.batch; ++n)
      for (std::size_t c = 0; c < shape.inputs; ++c)
        for (std::size_t y = 0; y < shape.height; ++y) {
          float* to = lines_.data() + (y * shape.batch + n) * length_of(shape) +
                      shape.kernel / 2 * shape.inputs + c;
          for (std::size_t x = 0; x < shape.width; ++x, to += shape.inputs) *to = *samples++;
        }
  }
  const float* data() const { return lines_.data(); }

 private:
  static std::size_t length_of(const ConvShape& shape) {
    return (shape.width + shape.kernel - 1) * shape.inputs;
  }
  Floats64 lines_;
  std::size_t batch_ = 0;
};

class FirstDirect final : public ConvWay {
 public:
  explicit FirstDirect(const ConvShape& largest) : lines_(largest) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    lines_.read(shape, in);
    convolve_first(shape, lines_.data(), weights, bias, out);
  }
  void backward(const ConvShape& shape, const float* /*in*/, const float* d_out,
                const float* /*turned*/, float* d_weights, float* /*d_in*/) override {
    convolve_first_weights(shape, lines_.data(), d_out, d_weights);
  }

 private:
  PaddedLines lines_;
};

class FirstBf16 final : public ConvWay {
 public:
  explicit FirstBf16(const ConvShape& largest) : lines_(largest), space_(largest, /*first=*/true) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    lines_.read(shape, in);
    bf16::convolve_first(shape, lines_.data(), weights, bias, out, space_);
  }
  void backward(const ConvShape& shape, const float* /*in*/, const float* d_out,
                const float* /*turned*/, float* d_weights, float* /*d_in*/) override {
    bf16::convolve_first_weights(shape, lines_.data(), d_out, d_weights, space_);
  }

 private:
  PaddedLines lines_;
  bf16::ConvSpace space_;
};

class FirstAmx final : public ConvWay {
 public:
  explicit FirstAmx(const ConvShape& largest) : space_(largest) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    amx::convolve_first(shape, in, weights, bias, out, space_);
  }
  void backward(const ConvShape& shape, const float* /*in*/, const float* d_out,
                const float* /*turned*/, float* d_weights, float* /*d_in*/) override {
    amx::convolve_first_weights(shape, d_out, d_weights, space_);
  }

 private:
  amx::FirstSpace space_;
};

class FirstWinograd final : public ConvWay {
 public:
  explicit FirstWinograd(const ConvShape& largest) : space_(largest) {}
  void forward(const ConvShape& shape, const float* in, const float* weights, const float* bias,
               float* out) override {
    winograd_first(shape, in, weights, bias, out, space_);
  }
  void backward(const ConvShape& shape, const float* /*in*/, const float* d_out,
                const float* /*turned*/, float* d_weights, float* /*d_in*/) override {
    winograd_first_weights(shape, d_out, d_weights, space_);
  }

 private:
  WinogradFirstSpace space_;
};

std::unique_ptr<ConvWay> make_first(const ConvShape& largest, CpuKernels kernels) {
  if (kernels.winograd && winograd_first_fits(largest))
    return std::make_unique<FirstWinograd>(largest);
  if (kernels.amx && amx::first_fits(largest)) return std::make_unique<FirstAmx>(largest);
  if (kernels.bf16) return std::make_unique<FirstBf16>(largest);
  return std::make_unique<FirstDirect>(largest);
}

}  // namespace

std::unique_ptr<ConvWay> make_conv_way(const ConvShape& largest, bool first, CpuKernels kernels) {
  if (first) return make_first(largest, kernels);
  if (kernels.winograd && winograd_fits(largest))
    return std::make_unique<Winograd>(largest, kernels.bf16);
  if (kernels.amx) return std::make_unique<Amx>(largest);
  if (kernels.bf16) return std::make_unique<DirectBf16>(largest);
  return std::make_unique<Direct>();
}

}  // namespace tessera
