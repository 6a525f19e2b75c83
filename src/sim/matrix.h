// Pairwise rates and latencies between places, from a table (docs/networks.md):
//
//   from,to,rate,latency
//   Ohio,Oregon,105Mbit/s,25ms
//   Ohio,Ohio,1Gbit/s,1ms           # Between two nodes in Ohio.
//
// A row holds both ways unless the table is read with both_ways = false; then each way has its own.
// Every pair must be there, each place with itself included.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace tessera {

class PathMatrix {
 public:
  struct Path {
    double rate = 0;  // Bytes per second; 0 only while the table is being read.
    Duration latency{};
    bool operator==(const Path&) const = default;
  };

  static Result<PathMatrix> parse(std::string_view text, bool both_ways);

  const std::vector<std::string>& places() const { return places_; }  // As they first appear.
  const Path& path(std::size_t from, std::size_t to) const {
    return paths_[from * places_.size() + to];
  }

 private:
  std::vector<std::string> places_;
  std::vector<Path> paths_;  // Row by row.
};

}  // namespace tessera
