#include <fmt/format.h>

#include <cstring>
#include <map>

#include "codec/codec_bench.h"
#include "codec/sample_data.h"
#include "codec/value_codec.h"

namespace tessera {
namespace {

struct Figures {
  double encode_s = 0;
  double decode_s = 0;
  double ratio = 0;
};

bool same_bits(const Vector& a, const Vector& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

Figures bench_codec(Bench& bench, const ValueCodec& codec, const Vector& values) {
  const Random rounding(1);
  Bytes payload, again;
  codec.encode(values, rounding, payload);
  Vector back(values.size());
  bench.verify(codec.decode(payload, back).ok() && (!codec.lossless || same_bits(back, values)),
               codec.name);
  const std::vector<Contender> contenders = {
      {"encode", [&] { again.clear(), codec.encode(values, rounding, again), keep(again.data()); }},
      {"decode", [&] { keep(codec.decode(payload, back).ok()); }}};
  const auto timings = bench.time_in_turns(contenders);
  const double bytes = static_cast<double>(values.size()) * sizeof(float);
  const double ratio = bytes / static_cast<double>(payload.size());
  for (std::size_t i = 0; i < contenders.size(); ++i)
    bench.row(fmt::format("{} {}", codec.name, contenders[i].name), timings[i], bytes,
              i == 0 ? fmt::format("{:.3f} times smaller", ratio) : "");
  return {timings[0].median_s, timings[1].median_s, ratio};
}

void bench_one_size(Bench& bench, std::size_t n) {
  const Vector values = weight_like_values(n, Random(1));
  Vector copy(n);
  bench.section(fmt::format("values, {} floats like weights", n));
  const double bytes = static_cast<double>(n) * sizeof(float);
  bench.row("memcpy", bench.time([&] {
    std::memcpy(copy.data(), values.data(), n * sizeof(float)), keep(copy.data());
  }),
            bytes);
  std::map<std::string_view, Figures> figures;
  for (const ValueCodec& codec : value_codecs())
    figures[codec.name] = bench_codec(bench, codec, values);
  if (n != 1'000'000) return;
  const Figures fpzip = figures.at("fpzip"), planes = figures.at("planes");
  bench.goal("planes encode against fpzip, 1 M floats", fpzip.encode_s / planes.encode_s, 4);
  bench.goal("planes decode against fpzip, 1 M floats", fpzip.decode_s / planes.decode_s, 4);
  bench.goal("planes ratio against fpzip's, 1 M floats", planes.ratio / fpzip.ratio, 1);
}

}  // namespace

void bench_value_codecs(Bench& bench) {
  for (const std::size_t n : bench.options().sizes) bench_one_size(bench, n);
}

}  // namespace tessera
