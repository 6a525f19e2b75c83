// What the ranks of one simulation do together: if one of them cannot, none goes on.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "sim/ranks.h"

namespace tessera {

// What is thrown on all ranks alike.
struct Agreed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Does it on every rank. Where it threw on one, it throws on all what the lowest of those had to
// say.
template <typename Act>
void together(Ranks* ranks, Act act) {
  if (!ranks) return act();
  std::string told;  // A digit, which exception it is, and its words.
  try {
    act();
  } catch (const std::invalid_argument& error) {
    told = std::string("2") + error.what();
  } catch (const std::exception& error) {
    told = std::string("1") + error.what();
  }
  const std::vector<Bytes> heard = ranks->gather(bytes_of(told));
  for (std::size_t rank = 0; rank < heard.size(); ++rank) {
    if (heard[rank].empty()) continue;
    const std::string text(reinterpret_cast<const char*>(heard[rank].data()), heard[rank].size());
    const std::string why = (rank == 0 ? "" : fmt::format("rank {}: ", rank)) + text.substr(1);
    if (text[0] == '2') throw std::invalid_argument(why);
    throw Agreed(why);
  }
}

// Throws on all ranks where one was given another text than the first: they were not started as
// one.
inline void refuse_others(Ranks* ranks, const std::string& given) {
  if (!ranks) return;
  const std::vector<Bytes> all = ranks->gather(bytes_of(given));
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw std::invalid_argument(fmt::format(
          "rank {} of {} was given another version, experiment or flags than rank 0: processes "
          "that are started together carry out one simulation; start several one by one (srun -n "
          "1), or as a sweep",
          rank, all.size()));
}

// What the first rank says, on all.
inline bool as_first_says(Ranks* ranks, bool said) {
  if (!ranks) return said;
  const std::byte told{said};
  return ranks->gather({&told, 1})[0][0] != std::byte{0};
}

}  // namespace tessera
