#include "topology/pairing.h"

#include <array>
#include <numeric>

#include "base/check.h"

namespace tessera {
namespace {

using Stub = std::uint32_t;

// With at most half of the possible edges in use a random partner fits in one try out of a few.
constexpr int kSwitchTries = 1000;

class Pairing {
 public:
  explicit Pairing(std::span<const std::uint32_t> degrees);

  Stub first_stub(NodeId node) const { return begins_[node]; }
  // Pairs left[i] with right[i].
  void pair(std::span<const Stub> left, std::span<const Stub> right);
  // Switches with pairs whose one stub is in [pool_begin, end) until the graph is simple.
  bool make_simple(Stub pool_begin, Random& random);
  std::vector<Edge> edges() const;

 private:
  std::vector<Stub> suspects() const;
  bool is_bad(Stub s) const;
  bool adjacent(NodeId a, NodeId b) const;
  bool try_switch(Stub s, Stub u);

  std::vector<Stub> begins_;   // First stub of each node; one more at the end.
  std::vector<NodeId> owner_;  // By stub.
  std::vector<Stub> mate_;     // By stub.
};

Pairing::Pairing(std::span<const std::uint32_t> degrees) {
  begins_.push_back(0);
  for (NodeId node = 0; node < degrees.size(); ++node) {
    owner_.insert(owner_.end(), degrees[node], node);
    begins_.push_back(static_cast<Stub>(owner_.size()));
  }
  mate_.resize(owner_.size());
}

void Pairing::pair(std::span<const Stub> left, std::span<const Stub> right) {
  CHECK(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    mate_[left[i]] = right[i];
    mate_[right[i]] = left[i];
  }
}

// One stub of every pair that is a loop or repeats an edge met before.
std::vector<Stub> Pairing::suspects() const {
  std::vector<Stub> found;
  std::vector<NodeId> last_met_by(begins_.size(), ~NodeId{0});
  for (Stub s = 0; s < mate_.size(); ++s) {
    const NodeId own = owner_[s], other = owner_[mate_[s]];
    if (own == other ? s < mate_[s] : own < other && last_met_by[other] == own) found.push_back(s);
    last_met_by[other] = own;
  }
  return found;
}

bool Pairing::is_bad(Stub s) const {
  const NodeId own = owner_[s], other = owner_[mate_[s]];
  if (own == other) return true;
  int copies = 0;
  for (Stub t = begins_[own]; t < begins_[own + 1]; ++t) copies += owner_[mate_[t]] == other;
  return copies > 1;
}

bool Pairing::adjacent(NodeId a, NodeId b) const {
  for (Stub s = begins_[a]; s < begins_[a + 1]; ++s)
    if (owner_[mate_[s]] == b) return true;
  return false;
}

// Pairs (s, t) and (u, v) become (s, u) and (t, v), if both are edges the graph does not have yet.
bool Pairing::try_switch(Stub s, Stub u) {
  const Stub t = mate_[s], v = mate_[u];
  const NodeId a = owner_[s], b = owner_[t], c = owner_[u], d = owner_[v];
  if (a == c || b == d) return false;
  if (a == b && c == d) return false;  // Two loops would become one edge, twice.
  if (adjacent(a, c) || adjacent(b, d)) return false;
  pair(std::array{s, t}, std::array{u, v});
  return true;
}

bool Pairing::make_simple(Stub pool_begin, Random& random) {
  for (const Stub s : suspects()) {
    int tries = 0;
    while (is_bad(s)) {
      if (++tries > kSwitchTries) return false;
      const auto u = static_cast<Stub>(pool_begin + random.below(mate_.size() - pool_begin));
      try_switch(s, u);
    }
  }
  return true;
}

std::vector<Edge> Pairing::edges() const {
  std::vector<Edge> list;
  list.reserve(mate_.size() / 2);
  for (Stub s = 0; s < mate_.size(); ++s)
    if (s < mate_[s]) list.push_back({owner_[s], owner_[mate_[s]]});
  return list;
}

std::vector<Stub> shuffled(Stub begin, Stub end, Random& random) {
  std::vector<Stub> stubs(end - begin);
  std::iota(stubs.begin(), stubs.end(), begin);
  random.shuffle(std::span(stubs));
  return stubs;
}

}  // namespace

std::optional<std::vector<Edge>> draw_pairs(std::span<const std::uint32_t> degrees,
                                            Random& random) {
  Pairing pairing(degrees);
  const Stub count = pairing.first_stub(static_cast<NodeId>(degrees.size()));
  const std::vector<Stub> order = shuffled(0, count, random);
  pairing.pair(std::span(order).first(count / 2), std::span(order).subspan(count / 2));
  if (!pairing.make_simple(0, random)) return std::nullopt;
  return pairing.edges();
}

std::optional<std::vector<Edge>> draw_pairs_across(std::span<const std::uint32_t> degrees,
                                                   NodeId split, Random& random) {
  Pairing pairing(degrees);
  const Stub middle = pairing.first_stub(split);
  const Stub count = pairing.first_stub(static_cast<NodeId>(degrees.size()));
  std::vector<Stub> left(middle);
  std::iota(left.begin(), left.end(), Stub{0});
  pairing.pair(left, shuffled(middle, count, random));
  // The suspects' stubs are on the left, as own < other; a stub of the right side is what they
  // want.
  if (!pairing.make_simple(middle, random)) return std::nullopt;
  return pairing.edges();
}

}  // namespace tessera
