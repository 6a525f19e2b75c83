#include <fmt/format.h>

#include <cstring>

#include "base/ids.h"
#include "base/random.h"
#include "math/math_bench.h"
#include "math/wavelet.h"

namespace tessera {
namespace {

// Prints "forward SECONDS" and "inverse SECONDS": medians over as many runs as fit one second.
constexpr std::string_view kPyWavelets = R"(
import sys, time
import numpy, pywt
n = int(sys.argv[1])
x = numpy.random.default_rng(0).standard_normal(n).astype(numpy.float32)
pieces = pywt.wavedec(x, "sym2", level=4)
def median(run):
    times, end = [], time.perf_counter() + 1.0
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[len(times) // 2]
print("forward", median(lambda: pywt.coeffs_to_array(pywt.wavedec(x, "sym2", level=4))))
print("inverse", median(lambda: pywt.waverec(pieces, "sym2")))
)";

void compare_with_pywavelets(Bench& bench, std::size_t n, Timing forward, Timing inverse) {
  const auto theirs = bench.python(kPyWavelets, std::to_string(n));
  if (!theirs)
    return bench.say("PyWavelets: not compared (python3-pywt is missing or switched off)");
  const double bytes = static_cast<double>(n) * sizeof(float);
  const double forward_ratio = theirs->at("forward") / forward.median_s;
  const double inverse_ratio = theirs->at("inverse") / inverse.median_s;
  bench.row("PyWavelets wavedec + coeffs_to_array", {theirs->at("forward"), theirs->at("forward")},
            bytes, fmt::format("ours is {:.1f}x faster", forward_ratio));
  bench.row("PyWavelets waverec", {theirs->at("inverse"), theirs->at("inverse")}, bytes,
            fmt::format("ours is {:.1f}x faster", inverse_ratio));
  if (n != 1'000'000) return;
  bench.goal("sym2 x 4 forward against PyWavelets, 1 M floats", forward_ratio, 12);
  bench.goal("sym2 x 4 inverse against PyWavelets, 1 M floats", inverse_ratio, 12);
}

void bench_one_size(Bench& bench, std::size_t n) {
  const WaveletPlan plan = plan_wavelet("sym2", 4, n);
  Random random(1);
  Vector x(n), copy(n), back(n), coefficients(plan.coefficients()), expected(plan.coefficients());
  for (float& v : x) v = static_cast<float>(random.normal());

  plain::wavelet_forward(plan, x, expected);
  wavelet_forward(plan, x, coefficients);
  bench.verify(coefficients == expected, "the wavelet transform");
  plain::wavelet_inverse(plan, expected, copy);
  wavelet_inverse(plan, coefficients, back);
  bench.verify(back == copy, "the inverse wavelet transform");

  const double bytes = static_cast<double>(n) * sizeof(float);
  bench.section(fmt::format("wavelet, sym2 x 4, {} floats", n));
  const std::vector<Contender> contenders = {
      {"memcpy", [&] { std::memcpy(copy.data(), x.data(), n * sizeof(float)), keep(copy.data()); }},
      {"forward", [&] { wavelet_forward(plan, x, coefficients), keep(coefficients.data()); }},
      {"inverse", [&] { wavelet_inverse(plan, coefficients, back), keep(back.data()); }},
      {"forward, plain reference", [&] { plain::wavelet_forward(plan, x, coefficients); }},
      {"inverse, plain reference", [&] { plain::wavelet_inverse(plan, coefficients, back); }}};
  const std::vector<Timing> timings = bench.time_in_turns(contenders);
  for (std::size_t i = 0; i < contenders.size(); ++i)
    bench.row(contenders[i].name, timings[i], bytes,
              fmt::format("{:.2f} of memcpy", timings[0].median_s / timings[i].median_s));
  if (n == 1'000'000) {
    bench.goal("sym2 x 4 forward against memcpy, 1 M floats",
               timings[0].median_s / timings[1].median_s, 0.2);
    bench.goal("sym2 x 4 inverse against memcpy, 1 M floats",
               timings[0].median_s / timings[2].median_s, 0.2);
  }
  compare_with_pywavelets(bench, n, timings[1], timings[2]);
}

}  // namespace

void bench_wavelet(Bench& bench) {
  for (const std::size_t n : bench.options().sizes) bench_one_size(bench, n);
}

}  // namespace tessera
