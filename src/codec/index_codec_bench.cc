#include <fmt/format.h>

#include "codec/codec_bench.h"
#include "codec/gamma.h"
#include "codec/index_codec.h"
#include "codec/rice.h"
#include "codec/sample_data.h"

namespace tessera {
namespace {

// An Elias gamma coder as one writes it with numpy, and as the reference Python system has it: bits
// as an array of bytes, one pass per bit of the longest code, and a decoder that must walk from
// code to code, because where one starts is known only when the one before it has ended. Few
// repetitions: it takes seconds where ours takes milliseconds.
constexpr std::string_view kNumpyGamma = R"(
import sys, time
import numpy as np
n, density = int(sys.argv[1]), float(sys.argv[2])
indices = np.flatnonzero(np.random.default_rng(0).random(n) < density)

def encode(indices):
    ordered = np.sort(indices)
    gaps = np.diff(ordered)
    high = np.floor(np.log2(gaps)).astype(np.int64)
    ends = np.cumsum(2 * high + 1)
    bits = np.zeros(ends[-1], dtype=np.uint8)
    for b in range(high.max() + 1):
        has = high >= b
        bits[ends[has] - 1 - b] = (gaps[has] >> b) & 1
    return int(ordered[0]), int(ends[-1]), np.packbits(bits)

def decode(first, length, packed):
    bits = np.unpackbits(packed)[:length]
    at = np.arange(length)
    ones = np.where(bits == 1, at, length)
    ones = np.minimum.accumulate(ones[::-1])[::-1]   # The first one at or after each bit.
    after = (2 * ones - at + 1).tolist()             # Where the next code starts.
    starts, o = [], 0
    while o < length:
        starts.append(o)
        o = after[o]
    starts = np.array(starts)
    high = ones[starts] - starts
    gaps = np.zeros(len(starts), dtype=np.int64)
    for b in range(high.max() + 1):
        has = high >= b
        gaps[has] = gaps[has] << 1 | bits[(starts + high)[has] + b]
    return np.concatenate([[first], first + np.cumsum(gaps)])

def median(run, times=3):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[times // 2]

message = encode(indices)
assert (decode(*message) == indices).all()
print("encode", median(lambda: encode(indices)))
print("decode", median(lambda: decode(*message)))
print("indices", len(indices))
)";

struct Subject {
  Indices indices{};
  std::uint32_t dimension = 0;
  IndexSet set() const { return {indices, dimension}; }
  double count() const { return static_cast<double>(indices.size()); }
};

std::string rate(const Subject& subject, Timing timing, std::size_t payload_bytes) {
  return fmt::format("{:5.0f} M indices/s, {:.2f} bits each",
                     subject.count() / timing.median_s * 1e-6,
                     8.0 * static_cast<double>(payload_bytes) / subject.count());
}

struct Pace {
  Timing encode{};
  Timing decode{};
};

// One row of the table both ways, and beside it what `plain` does with the same payload.
Pace bench_codec(Bench& bench, const IndexCodec& codec, const Subject& subject) {
  Bytes payload, again;
  codec.encode(subject.set(), payload);
  Indices back(subject.indices.size());
  bench.verify(codec.decode(payload, subject.dimension, back).ok() && back == subject.indices,
               codec.name);
  const std::vector<Contender> contenders = {
      {"encode", [&] { again.clear(), codec.encode(subject.set(), again), keep(again.data()); }},
      {"decode", [&] { keep(codec.decode(payload, subject.dimension, back).ok()); }}};
  const auto timings = bench.time_in_turns(contenders);
  const double bytes = subject.count() * sizeof(std::uint32_t);
  for (std::size_t i = 0; i < contenders.size(); ++i)
    bench.row(fmt::format("{} {}", codec.name, contenders[i].name), timings[i], bytes,
              rate(subject, timings[i], payload.size()));
  return {timings[0], timings[1]};
}

void bench_plain(Bench& bench, const Subject& subject, Pace gamma) {
  Bytes payload, again;
  encode_gamma(subject.set(), payload);
  plain::encode_gamma(subject.set(), again);
  bench.verify(payload == again, "gamma");
  Indices back(subject.indices.size());
  bench.verify(
      plain::decode_gamma(payload, subject.dimension, back).ok() && back == subject.indices,
      "the plain gamma decoder");
  const Contender encode{
      "", [&] { again.clear(), plain::encode_gamma(subject.set(), again), keep(again.data()); }};
  const Contender decode{"",
                         [&] { keep(plain::decode_gamma(payload, subject.dimension, back).ok()); }};
  const auto timings = bench.time_in_turns(std::vector{encode, decode});
  const double bytes = subject.count() * sizeof(std::uint32_t);
  const auto note = [](Timing plain, Timing fast) {
    return fmt::format("the fast one is {:.1f}x faster", plain.median_s / fast.median_s);
  };
  bench.row("gamma encode, bit by bit", timings[0], bytes, note(timings[0], gamma.encode));
  bench.row("gamma decode, bit by bit", timings[1], bytes, note(timings[1], gamma.decode));
}

void compare_with_numpy(Bench& bench, const Subject& subject, double density, Pace gamma) {
  const auto theirs = bench.python(kNumpyGamma, fmt::format("{} {}", subject.dimension, density));
  if (!theirs)
    return bench.say("numpy Elias gamma: not compared (numpy is missing or switched off)");
  // Their set is as large as ours give or take a per mille: compare per index.
  const double scale = subject.count() / theirs->at("indices");
  const double encode_s = theirs->at("encode") * scale, decode_s = theirs->at("decode") * scale;
  const double encode_ratio = encode_s / gamma.encode.median_s;
  const double decode_ratio = decode_s / gamma.decode.median_s;
  const double bytes = subject.count() * sizeof(std::uint32_t);
  bench.row("numpy Elias gamma encode", {encode_s, encode_s}, bytes,
            fmt::format("ours is {:.0f}x faster", encode_ratio));
  bench.row("numpy Elias gamma decode", {decode_s, decode_s}, bytes,
            fmt::format("ours is {:.0f}x faster", decode_ratio));
  if (subject.dimension != 1'000'000) return;
  const auto what = [&](std::string_view way) {
    return fmt::format("gamma {} against numpy, {:.0f}% of 1 M floats", way, density * 100);
  };
  bench.goal(what("encode"), encode_ratio, 15);
  bench.goal(what("decode"), decode_ratio, 40);
}

}  // namespace

void bench_index_codecs(Bench& bench) {
  for (const std::size_t n : bench.options().sizes) {
    for (const double density : {0.1, 0.37}) {
      const auto dimension = static_cast<std::uint32_t>(n);
      const Subject subject{random_indices(density, dimension, Random(1)), dimension};
      bench.section(fmt::format("indices of {:.0f}% of {} floats, at random", density * 100, n));
      Pace gamma;
      for (const IndexCodec& codec : index_codecs()) {
        const Pace pace = bench_codec(bench, codec, subject);
        if (codec.name == "gamma") gamma = pace;
      }
      bench_plain(bench, subject, gamma);
      // The numpy coder takes minutes where it has nothing more to say.
      if (n <= 1'000'000) compare_with_numpy(bench, subject, density, gamma);
    }
  }
}

void bench_codecs(Bench& bench) {
  bench_index_codecs(bench);
  bench_value_codecs(bench);
}

}  // namespace tessera
