// What each node's own links can carry at the moment: the same for all, but for stragglers and for
// what a trace says. Straggling nodes are those with the lowest ids, as in DivShare's set-up, and
// both their directions are slow alike: a straggler's speed is drawn once, from
// N(1 / slowdown, noise / slowdown), and kept above zero. A rate in a trace replaces all that.
#pragma once

#include <optional>
#include <vector>

#include "sim/network.h"
#include "sim/trace.h"

namespace tessera {

// DivShare's fast link: 60 Mbit/s each way, 1 ms.
inline constexpr double kDefaultRate = 60e6 / 8;
inline constexpr Duration kDefaultLatency = std::chrono::milliseconds(1);

// How fast each node is beside the others: 1, and about 1 / slowdown for stragglers. Reads
// stragglers=, slowdown= and noise=; compute models slow down by the same numbers.
std::vector<double> read_speeds(Options& options, std::uint32_t nodes, const Random& random);

// What becomes of a message that its sender has begun to send when it takes back the rest.
// DivShare's reference closes its connections, so it is lost; a TCP connection that is kept can
// only finish it, as live nodes do.
enum class HalfSent { kLost, kFinished };
HalfSent read_half_sent(Options& options);  // half_sent=lost or finished.

class NodeRates {
 public:
  // Rates by node, in bytes per second.
  NodeRates(std::vector<double> up, std::vector<double> down, Trace trace);

  // Reads up=, down=, what read_speeds reads, slow= and trace=. `fallback` is up= where it is not
  // given; down= is as fast as up=.
  static NodeRates read(Options& options, const NetworkContext& context, double fallback);

  std::uint32_t nodes() const { return static_cast<std::uint32_t>(up_.size()); }
  double up(NodeId node) const { return on_[node] ? up_[node] : 0; }
  double down(NodeId node) const { return on_[node] ? down_[node] : 0; }

  Instant next_change() const { return position_ < trace_.size() ? trace_[position_].at : kNever; }
  // Makes the changes up to `now`; whether there were any.
  bool advance(Instant now);

  void fields(Archive& archive);  // Loads into rates that have made no change since construction.

 private:
  void make_next_change();

  std::vector<double> up_, down_;
  std::vector<bool> on_;
  Trace trace_;
  std::size_t position_ = 0;  // Of the next change.
};

}  // namespace tessera
