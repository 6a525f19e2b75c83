#include <fmt/format.h>

#include "base/ids.h"
#include "base/random.h"
#include "math/math_bench.h"
#include "math/select.h"

namespace tessera {
namespace {

void bench_one_size(Bench& bench, std::size_t n, double fraction) {
  Random random(2);
  Vector scores(n);
  for (float& s : scores) s = static_cast<float>(random.normal());
  const auto k = static_cast<std::size_t>(static_cast<double>(n) * fraction);
  Indices chosen, expected;
  plain::select_largest(scores, k, expected);
  select_largest(scores, k, chosen);
  bench.verify(chosen == expected, "selection");

  const double bytes = static_cast<double>(n) * sizeof(float);
  bench.section(fmt::format("select the {:.0f}% largest of {} floats", fraction * 100, n));
  const std::vector<Contender> contenders = {
      {"std::nth_element + sort", [&] { plain::select_largest(scores, k, expected); }},
      {"select_largest", [&] { select_largest(scores, k, chosen), keep(chosen.data()); }}};
  const std::vector<Timing> timings = bench.time_in_turns(contenders);
  const double ratio = timings[0].median_s / timings[1].median_s;
  bench.row(contenders[0].name, timings[0], bytes);
  bench.row(contenders[1].name, timings[1], bytes, fmt::format("{:.1f}x faster", ratio));
  if (n == 1'000'000 && fraction == 0.1)
    bench.goal("select 10% against nth_element + sort, 1 M floats", ratio, 5);
}

}  // namespace

void bench_select(Bench& bench) {
  for (const std::size_t n : bench.options().sizes)
    for (const double fraction : {0.1, 0.37}) bench_one_size(bench, n, fraction);
}

}  // namespace tessera
