// The two means. Which one is right depends on what silence means.
#include <algorithm>

#include "base/ids.h"
#include "math/pull.h"
#include "math/vector_ops.h"
#include "sharing/rule.h"

namespace tessera {
namespace {

// A coordinate a peer did not tell counts as the receiver's own.
class Gaps final : public Rule {
 public:
  bool weighs() const override { return true; }
  void average(std::span<float> x, std::span<const Copy> others) const override {
    if (!others.empty()) pull(x, others);
  }
};

// Each coordinate becomes the mean of the copies present, own copy included, whatever the weights:
// the rule for fragments, where silence says nothing.
class Present final : public Rule {
 public:
  void average(std::span<float> x, std::span<const Copy> others) const override {
    if (others.empty()) return;
    if (std::all_of(others.begin(), others.end(), [](const Copy& c) { return c.everything; }))
      return average_whole(x, others);
    Indices copies(x.size(), 1);
    for (const Copy& other : others) {
      if (other.everything) {
        add(x, other.values);
        for (std::uint32_t& count : copies) ++count;
      } else {
        add_at(x, copies, other.indices, other.values);
      }
    }
    divide_by_copies(x, copies);
  }

 private:
  // Nothing to count: there are as many copies of each coordinate as peers, and one.
  static void average_whole(std::span<float> x, std::span<const Copy> others) {
    for (const Copy& other : others) add(x, other.values);
    const auto copies = static_cast<float>(others.size() + 1);
    for (float& value : x) value /= copies;
  }
};

}  // namespace

std::unique_ptr<Rule> make_gaps_rule(Options&) {
  return std::make_unique<Gaps>();
}

std::unique_ptr<Rule> make_present_rule(Options&) {
  return std::make_unique<Present>();
}

}  // namespace tessera
