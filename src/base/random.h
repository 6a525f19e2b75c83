// Randomness as a tree. One seed is the root; every decision draws from a fork named for its
// purpose, so adding a draw in one place changes nothing in another, and any part of a run can be
// repeated alone:
//
//   Random root(seed);
//   Random cut_off = root.fork("node", id).fork("round", t).fork("cut-off");
//
// Counter-based (Philox4x32-10; Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
// 2011): the state is a key and a position, both of which a checkpoint can hold. The draws are our
// own rather than the standard library's distributions, which differ from one library to the next.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

class Random {
 public:
  explicit Random(std::uint64_t seed) : key_(seed) {}

  // A stream of its own, the same whatever has been drawn from this one.
  Random fork(std::string_view purpose, std::uint64_t index = 0) const;

  std::uint32_t bits() {
    if (position_ / 4 != cached_block_) draw_block();
    return block_[position_++ % 4];
  }
  std::uint64_t bits64();
  double uniform();                      // In [0, 1), 53 random bits.
  std::uint64_t below(std::uint64_t n);  // In [0, n), n > 0, without bias.
  double normal();                       // Mean 0, variance 1.

  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left)
      std::swap(items[left - 1], items[below(left)]);
  }
  // `count` distinct numbers of [0, n), in random order.
  std::vector<std::uint32_t> sample(std::uint32_t n, std::uint32_t count);

  // What a checkpoint must keep. A restored stream continues where the saved one stood.
  struct State {
    std::uint64_t key = 0;
    std::uint64_t position = 0;
    bool operator==(const State&) const = default;
  };
  State state() const { return {key_, position_}; }
  explicit Random(State state) : key_(state.key), position_(state.position) {}

 private:
  void draw_block();  // The one that `position_` is in.

  std::uint64_t key_;
  std::uint64_t position_ = 0;  // In 32-bit words; four to a Philox block.
  std::uint64_t cached_block_ = ~0ull;
  std::array<std::uint32_t, 4> block_{};
};

}  // namespace tessera
