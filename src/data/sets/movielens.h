// MovieLens' ratings.csv: user, film, rating, time. Users and films are numbered anew, in the order
// of their ids, so that a model has a row for each and none to spare. Each user's ratings are split
// at random into 70% to train on and 30% to test.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

struct Rating {
  std::uint32_t user = 0;
  std::uint32_t film = 0;
  float stars = 0;
  bool operator==(const Rating&) const = default;
};

// The ids as they are in the file, in its order.
Result<std::vector<Rating>> parse_ratings(std::string_view csv);

DataSource movielens_source(Options& options);

}  // namespace tessera
