#include "learn/lstm_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "learn/lstm_kernels.cc"
#include <hwy/foreach_target.h>
// foreach_target.h must come first.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using FloatVector = hn::Vec<Floats>;

constexpr std::size_t kLanes = hn::MaxLanes(Floats());

HWY_INLINE FloatVector sigmoid(FloatVector x) {
  const Floats d;
  const auto one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
}

// s (1 - s), the slope of the sigmoid where its value is s.
HWY_INLINE FloatVector slope(FloatVector s) {
  return hn::NegMulAdd(s, s, s);
}

void LstmCell(std::size_t count, LstmGates gates, const float* before, float* c, float* tanh_c,
              float* h) {
  const Floats d;
  for (std::size_t k = 0; k < count; k += kLanes) {
    const auto i = sigmoid(hn::LoadU(d, gates.input + k));
    const auto f = sigmoid(hn::LoadU(d, gates.forget + k));
    const auto g = hn::Tanh(d, hn::LoadU(d, gates.cell + k));
    const auto o = sigmoid(hn::LoadU(d, gates.output + k));
    const auto old = before ? hn::LoadU(d, before + k) : hn::Zero(d);
    const auto now = hn::MulAdd(f, old, hn::Mul(i, g));
    const auto squashed = hn::Tanh(d, now);
    hn::StoreU(i, d, gates.input + k);
    hn::StoreU(f, d, gates.forget + k);
    hn::StoreU(g, d, gates.cell + k);
    hn::StoreU(o, d, gates.output + k);
    hn::StoreU(now, d, c + k);
    hn::StoreU(squashed, d, tanh_c + k);
    hn::StoreU(hn::Mul(o, squashed), d, h + k);
  }
}

void LstmCellGradient(std::size_t count, LstmGates gates, const float* before, const float* tanh_c,
                      const float* d_h, float* d_c) {
  const Floats d;
  for (std::size_t k = 0; k < count; k += kLanes) {
    const auto i = hn::LoadU(d, gates.input + k), f = hn::LoadU(d, gates.forget + k);
    const auto g = hn::LoadU(d, gates.cell + k), o = hn::LoadU(d, gates.output + k);
    const auto squashed = hn::LoadU(d, tanh_c + k), dh = hn::LoadU(d, d_h + k);
    const auto old = before ? hn::LoadU(d, before + k) : hn::Zero(d);
    const auto one = hn::Set(d, 1.0f);
    // dc = dc + dh o (1 - tanh(c)^2)
    const auto flat = hn::NegMulAdd(squashed, squashed, one);
    const auto dc = hn::MulAdd(hn::Mul(dh, o), flat, hn::LoadU(d, d_c + k));
    hn::StoreU(hn::Mul(hn::Mul(dc, g), slope(i)), d, gates.input + k);
    hn::StoreU(hn::Mul(hn::Mul(dc, old), slope(f)), d, gates.forget + k);
    hn::StoreU(hn::Mul(hn::Mul(dc, i), hn::NegMulAdd(g, g, one)), d, gates.cell + k);
    hn::StoreU(hn::Mul(hn::Mul(dh, squashed), slope(o)), d, gates.output + k);
    hn::StoreU(hn::Mul(dc, f), d, d_c + k);
  }
}

void SumRows(std::size_t count, const float* rows, float* sums) {
  constexpr std::size_t kVectors = 32 / kLanes;
  const Floats d;
  FloatVector sum[kVectors];
  for (auto& each : sum) each = hn::Zero(d);
  for (std::size_t row = 0; row < count; ++row, rows += 32)
    for (std::size_t v = 0; v < kVectors; ++v)
      sum[v] = hn::Add(sum[v], hn::LoadU(d, rows + v * kLanes));
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(sum[v], d, sums + v * kLanes);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(LstmCell);
HWY_EXPORT(LstmCellGradient);
HWY_EXPORT(SumRows);

void lstm_cell(std::size_t count, LstmGates gates, const float* before, float* c, float* tanh_c,
               float* h) {
  HWY_DYNAMIC_DISPATCH(LstmCell)(count, gates, before, c, tanh_c, h);
}

void lstm_cell_gradient(std::size_t count, LstmGates gates, const float* before,
                        const float* tanh_c, const float* d_h, float* d_c) {
  HWY_DYNAMIC_DISPATCH(LstmCellGradient)(count, gates, before, tanh_c, d_h, d_c);
}

void sum_rows(std::size_t count, const float* rows, float* sums) {
  HWY_DYNAMIC_DISPATCH(SumRows)(count, rows, sums);
}

}  // namespace tessera
#endif  // HWY_ONCE
