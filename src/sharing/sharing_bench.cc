#include "sharing/sharing_bench.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/check.h"
#include "codec/wire.h"
#include "math/vector_ops.h"
#include "sharing/doubt.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

constexpr std::size_t kNeighbours = 4;
// The reference system's CPU time for the same work at 89,834 parameters and a budget of 0.37
// (decentralizepy a5d46be on two cores: 10.7 ms to pack, 35.2 ms to merge, 57 ms in all).
constexpr double kReferenceSeconds = 57e-3;
constexpr std::size_t kReferenceSize = 89'834;

struct Path {
  std::uint32_t dimension = 0;
  Codec codec = parse_codec("gamma+planes");
  std::array<std::unique_ptr<Sharing>, kNeighbours + 1> sharings{};
  std::array<Vector, kNeighbours + 1> models{};
  std::array<Encoded, kNeighbours + 1> messages{};

  // A common start and a step of training each: weights of a hundredth, changes a tenth of that.
  explicit Path(std::size_t n) : dimension(static_cast<std::uint32_t>(n)) {
    Random random(3);
    Vector start(n);
    for (float& v : start) v = 0.01f * static_cast<float>(random.normal());
    for (std::size_t i = 0; i <= kNeighbours; ++i) {
      sharings[i] = make_sharing("jwins:budget=0.37", {.dimension = dimension});
      sharings[i]->start(start);
      models[i] = start;
      for (float& v : models[i]) v += 0.001f * static_cast<float>(random.normal());
      tell(i);
    }
  }

  void tell(std::size_t i) {
    const std::vector<Share> shares = sharings[i]->pack(models[i], Random(i));
    messages[i] = encode({}, shares.front(), codec, {.sender = static_cast<NodeId>(i)}, Random(i));
  }

  // Into the model that was told, as in a round.
  void hear() {
    std::array<HeardShare, kNeighbours> shares;
    std::array<Contribution, kNeighbours> others;
    const OwnSize own{.norm = std::sqrt(squared_norm(models[0])), .parameters = dimension};
    for (std::size_t j = 0; j < kNeighbours; ++j) {
      Share share = std::move(decode(messages[j + 1].bytes).value().share);
      CHECK(doubt(norm_of(share.values), own).empty());
      shares[j] = sharings[0]->admit(std::make_shared<const Share>(std::move(share))).value();
      others[j] = {1.0f / (kNeighbours + 1), shares[j].get()};
    }
    sharings[0]->merge(models[0], others);
  }
};

void bench_one_size(Bench& bench, std::size_t n) {
  Path path(n);
  const Share told = decode(path.messages[1].bytes).value().share;
  bench.verify(
      encode({}, told, path.codec, {.sender = 1}, Random(1)).bytes == path.messages[1].bytes,
      "a decoded share");
  const double bytes = static_cast<double>(n) * sizeof(float);
  bench.section(
      fmt::format("one JWINS round beside training: {} parameters, budget 0.37, {} neighbours", n,
                  kNeighbours));
  const std::vector<Contender> parts = {
      {"pack and encode", [&] { path.tell(0); }},
      {"decode four messages, look, merge", [&] { path.hear(); }},
      {"the whole path", [&] { path.tell(0), path.hear(); }},
  };
  const std::vector<Timing> timings = bench.time_in_turns(parts);
  for (std::size_t i = 0; i < parts.size(); ++i) bench.row(parts[i].name, timings[i], bytes);
  bench.say(fmt::format("message: {} bytes, {:.3f} of the model", path.messages[0].bytes.size(),
                        static_cast<double>(path.messages[0].bytes.size()) / bytes));
  if (n != kReferenceSize) return;
  bench.limit("one JWINS round beside training, 89,834 parameters", timings[2].median_s * 1e3, 2.5,
              "ms");
  bench.goal("the same against the reference system's 57 ms",
             kReferenceSeconds / timings[2].median_s, 20);
}

}  // namespace

void bench_share_path(Bench& bench) {
  for (const std::size_t n : bench.options().sizes) bench_one_size(bench, n);
}

}  // namespace tessera
