#include "topology/mixing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace tessera {
namespace {

// y = W x, as x_i + sum_j w_ij (x_j - x_i), which leaves a constant vector exactly as it is.
class MixingMatrix {
 public:
  explicit MixingMatrix(const Graph& graph) : graph_(graph) {
    for (NodeId node = 0; node < graph.nodes(); ++node)
      weight_max_.push_back(1.0 / (graph.degree(node) + 1.0));
  }
  void apply(const std::vector<double>& x, std::vector<double>& y) const {
    for (NodeId i = 0; i < graph_.nodes(); ++i) {
      double sum = 0;
      for (const NodeId j : graph_.peers(i))
        sum += std::min(weight_max_[i], weight_max_[j]) * (x[j] - x[i]);
      y[i] = x[i] + sum;
    }
  }

 private:
  const Graph& graph_;
  std::vector<double> weight_max_;  // w_ij is the smaller of the two ends'.
};

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

void remove_mean(std::vector<double>& x) {
  double mean = 0;
  for (const double value : x) mean += value;
  mean /= static_cast<double>(x.size());
  for (double& value : x) value -= mean;
}

// A symmetric matrix with entries on and beside the diagonal only.
struct Tridiagonal {
  std::vector<double> diagonal{};
  std::vector<double> beside{};  // beside[i] joins i and i + 1; one shorter.
};

// By Sylvester's law of inertia the pivots of T - x I are negative as often as T has eigenvalues
// below x.
std::size_t eigenvalues_below(const Tridiagonal& t, double x) {
  constexpr double kTiny = 1e-300;
  std::size_t below = 0;
  double pivot = 1;
  for (std::size_t i = 0; i < t.diagonal.size(); ++i) {
    const double b = i == 0 ? 0 : t.beside[i - 1];
    pivot = t.diagonal[i] - x - b * b / pivot;
    if (std::abs(pivot) < kTiny) pivot = kTiny;
    below += pivot < 0;
  }
  return below;
}

// The eigenvalue that has `rank` others below it. All lie in [-1, 1], a rounding apart.
double eigenvalue(const Tridiagonal& t, std::size_t rank) {
  double low = -1.001, high = 1.001;
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (eigenvalues_below(t, middle) > rank ? high : low) = middle;
  }
  return 0.5 * (low + high);
}

// Lanczos' iteration on what is orthogonal to the constant vector, a step at a time. The vectors
// are not kept and not made orthogonal again: rounding then finds some eigenvalues more than once,
// which does not move the outermost ones (Paige, 1976), and memory stays at three vectors.
class Lanczos {
 public:
  explicit Lanczos(const Graph& graph)
      : matrix_(graph), now_(graph.nodes()), before_(graph.nodes()), next_(graph.nodes()) {
    Random random = Random(1).fork("lanczos");
    for (double& x : now_) x = random.uniform() - 0.5;
    remove_mean(now_);
    const double norm = std::sqrt(dot(now_, now_));
    for (double& x : now_) x /= norm;
  }

  // False when there is nowhere left to go: then the eigenvalues of the tridiagonal are exact.
  bool step() {
    constexpr double kNothing = 1e-13;
    matrix_.apply(now_, next_);
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] -= beside_ * before_[i];
    const double alpha = dot(now_, next_);
    for (std::size_t i = 0; i < next_.size(); ++i) next_[i] -= alpha * now_[i];
    remove_mean(next_);  // Rounding lets the constant vector back in.
    if (!tridiagonal_.diagonal.empty()) tridiagonal_.beside.push_back(beside_);
    tridiagonal_.diagonal.push_back(alpha);
    beside_ = std::sqrt(dot(next_, next_));
    if (beside_ < kNothing) return false;
    for (double& x : next_) x /= beside_;
    std::swap(before_, now_);
    std::swap(now_, next_);
    return true;
  }
  double lowest() const { return eigenvalue(tridiagonal_, 0); }
  double highest() const { return eigenvalue(tridiagonal_, tridiagonal_.diagonal.size() - 1); }

 private:
  MixingMatrix matrix_;
  std::vector<double> now_, before_, next_;
  double beside_ = 0;
  Tridiagonal tridiagonal_{};
};

}  // namespace

double mixing_weight(std::uint32_t own_degree, std::uint32_t peer_degree) {
  return 1.0 / (std::max(own_degree, peer_degree) + 1.0);
}

double mixing_weight(const MixingEnd& own, const MixingEnd& peer) {
  const double ratio = static_cast<double>(peer.samples) / static_cast<double>(own.samples);
  return std::min(1.0 / (own.degree + 1.0), ratio / (peer.degree + 1.0));
}

MixingRow mixing_row(const Graph& graph, NodeId node) {
  MixingRow row;
  for (const NodeId peer : graph.peers(node)) {
    row.peers.push_back(mixing_weight(graph.degree(node), graph.degree(peer)));
    row.own -= row.peers.back();
  }
  return row;
}

// Both ends of the spectrum only ever move outwards with more steps, quickly at first; twice the
// steps without a movement means that they have arrived. A ring or a line takes about as many steps
// as it has nodes, a random graph a few dozen.
double second_eigenvalue(const Graph& graph) {
  constexpr double kStill = 1e-7;  // Of the gap.
  constexpr double kRounding = 1e-14;
  if (graph.nodes() <= 1) return 0;
  Lanczos lanczos(graph);
  double low = 2, high = -2;
  const std::size_t most = 8 * std::size_t{graph.nodes()} + 64;
  std::size_t steps = 0;
  for (std::size_t check = 32;; check *= 2) {
    bool more = true;
    for (; more && steps < std::min(check, most); ++steps) more = lanczos.step();
    const double low_before = std::exchange(low, lanczos.lowest());
    const double high_before = std::exchange(high, lanczos.highest());
    const double second = std::clamp(std::max(high, -low), 0.0, 1.0);
    const double still = kStill * (1 - second) + kRounding;
    const bool arrived = low_before - low <= still && high - high_before <= still;
    if (!more || arrived || steps == most) return second;
  }
}

}  // namespace tessera
