// How a node's own values and its peers' become one: the rule of averaging, on plain spans. Every
// sharing folds in what it hears by the rule it is handed, in whatever domain it works; `auto` is
// the sharing's own choice. A rule has no memory and knows nothing of rounds or peers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/spec.h"
#include "math/pull.h"

namespace tessera {

class Rule {
 public:
  virtual ~Rule() = default;
  // Sums run in the order of `others`. A coordinate that no copy tells stays as it is.
  virtual void average(std::span<float> x, std::span<const Copy> others) const = 0;
  // Whether it judges a peer's copy by the others': then it needs several peers at once, each with
  // a copy of the same vector.
  virtual bool compares_peers() const { return false; }
  // Whether the weights of copies count.
  virtual bool weighs() const { return false; }
};

struct RuleKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  std::unique_ptr<Rule> (*make)(Options& options) = nullptr;
};

std::span<const RuleKind> rules();
// For a row from outside the tree, before anything is made of the table. Throws if its name is
// taken.
void register_rule(const RuleKind& kind);

// Null for "auto". Throws std::invalid_argument for an unknown name, option or value.
std::shared_ptr<const Rule> make_rule(std::string_view spec);

// Each kind's own file has one of these.
std::unique_ptr<Rule> make_gaps_rule(Options& options);
std::unique_ptr<Rule> make_present_rule(Options& options);
std::unique_ptr<Rule> make_median_rule(Options& options);
std::unique_ptr<Rule> make_trimmed_rule(Options& options);
std::unique_ptr<Rule> make_clipped_rule(Options& options);
std::unique_ptr<Rule> make_geometric_rule(Options& options);
std::unique_ptr<Rule> make_krum_rule(Options& options);
std::unique_ptr<Rule> make_multikrum_rule(Options& options);
std::unique_ptr<Rule> make_nnm_rule(Options& options);

}  // namespace tessera
