// Copies of a vector as peers tell them, for the tests of rules.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "sharing/rule.h"
#include "sharing/world_for_tests.h"

namespace tessera {

// A few peers' copies of a vector: some tell all of it, others every so many coordinates.
struct Heard {
  std::vector<Vector> values{};
  std::vector<Indices> indices{};
  std::vector<bool> everything{};

  void add(Vector told) {
    values.push_back(std::move(told));
    indices.emplace_back();
    everything.push_back(true);
  }
  void add(Vector told, Indices where) {
    add(std::move(told));
    indices.back() = std::move(where);
    everything.back() = false;
  }
  std::vector<Copy> copies() const {
    std::vector<Copy> all;
    for (std::size_t j = 0; j < values.size(); ++j)
      all.push_back({.weight = 1.0f / static_cast<float>(values.size() + 1),
                     .values = values[j],
                     .everything = everything[j],
                     .indices = indices[j]});
    return all;
  }
};

inline Heard random_copies(std::size_t dimension, std::size_t peers, Random random) {
  Heard heard;
  for (std::size_t j = 0; j < peers; ++j) {
    const Vector whole = test_model(dimension, random.fork("peer", j).bits64());
    if (j % 3 == 0) {
      heard.add(whole);
      continue;
    }
    Vector some;
    Indices where;
    for (std::uint32_t k = 0; k < dimension; ++k)
      if (random.below(j + 1) > 0) where.push_back(k), some.push_back(whole[k]);
    heard.add(some, where);
  }
  return heard;
}

inline Vector averaged(const std::string& spec, Vector x, const Heard& heard) {
  make_rule(spec)->average(x, heard.copies());
  return x;
}

}  // namespace tessera
