#include "base/random.h"

#include <Random123/philox.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/hash.h"

namespace tessera {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words philox(std::uint64_t key, std::uint64_t low, std::uint64_t high) {
  using Generator = r123::Philox4x32;
  const auto word = [](std::uint64_t v, int i) {
    return static_cast<std::uint32_t>(v >> (32 * i));
  };
  const Generator::ctr_type counter{{word(low, 0), word(low, 1), word(high, 0), word(high, 1)}};
  const Generator::key_type k{{word(key, 0), word(key, 1)}};
  const auto out = Generator{}(counter, k);
  return {out[0], out[1], out[2], out[3]};
}

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
  return low | std::uint64_t{high} << 32;
}

}  // namespace

Random Random::fork(std::string_view purpose, std::uint64_t index) const {
  // Draws use counters whose upper half is zero; a name that hashes to zero is made one, so forks
  // never meet them.
  const std::uint64_t name = hash_bytes(bytes_of(purpose));
  const Words words = philox(key_, index, name == 0 ? 1 : name);
  return Random(joined(words[0], words[1]));
}

void Random::draw_block() {
  cached_block_ = position_ / 4;
  block_ = philox(key_, cached_block_, 0);
}

std::uint64_t Random::bits64() {
  const std::uint32_t low = bits();
  return joined(low, bits());
}

double Random::uniform() {
  return static_cast<double>(bits64() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t n) {
  CHECK(n > 0);
  // Lemire, "Fast random integer generation in an interval" (2019): the high half of a 128-bit
  // product, with the few draws that would favour small numbers thrown away.
  __extension__ using Wide = unsigned __int128;
  Wide product = Wide{bits64()} * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t unfair = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < unfair) product = Wide{bits64()} * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::normal() {
  // Box and Muller, one of the pair: throwing the other away keeps the state a key and a position.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::vector<std::uint32_t> Random::sample(std::uint32_t n, std::uint32_t count) {
  CHECK(count <= n);
  // A Fisher-Yates shuffle that stops after `count` steps and remembers only the places it touched,
  // in a table that is never more than half full and whose size is a power of two.
  constexpr std::uint32_t kNowhere = ~0u;  // Places are below n.
  struct Moved {
    std::uint32_t place = kNowhere, item = 0;
  };
  std::vector<Moved> table(std::bit_ceil(2 * std::size_t{count} + 1));
  const std::size_t last = table.size() - 1;
  const auto find = [&](std::uint32_t place) -> Moved& {
    std::size_t slot = place & last;
    while (table[slot].place != place && table[slot].place != kNowhere) slot = (slot + 1) & last;
    return table[slot];
  };
  const auto at = [&](std::uint32_t place) {
    const Moved& found = find(place);
    return found.place == place ? found.item : place;
  };
  std::vector<std::uint32_t> chosen;
  chosen.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::uint32_t>(i + below(n - i));
    chosen.push_back(at(place));
    find(place) = {place, at(i)};
  }
  return chosen;
}

}  // namespace tessera
