// DivShare's fragments (Biswas et al., WWW 2025): the model in F pieces that travel on their own.
// Where the run names no rule, each coordinate becomes the mean of the copies present, own copy
// included; silence says nothing, so a piece that never came changes nothing, and weights play no
// part.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "sharing/average.h"
#include "sharing/fragment_layout.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

class Fragments final : public Sharing {
 public:
  Fragments(std::shared_ptr<const FragmentLayout> layout, std::shared_ptr<const Rule> rule)
      : layout_(std::move(layout)), rule_(std::move(rule)) {}

  void start(std::span<const float>) override {}

  std::vector<Share> pack(std::span<const float> model, const Random&) override {
    CHECK(model.size() == layout_->key().dimension);
    std::vector<Share> shares;
    shares.reserve(layout_->count());
    for (std::uint32_t id = 0; id < layout_->count(); ++id) {
      const std::span<const std::uint32_t> indices = layout_->fragment(id);
      if (indices.empty()) continue;
      Share& share = shares.emplace_back();
      share.dimension = layout_->key().dimension;
      share.coordinates = Fragment{id, layout_->count(), layout_->key().seed};
      share.values = told_of(model, share.coordinates);
    }
    return shares;
  }

  Vector told_of(std::span<const float> model, const Coordinates& coordinates) const override {
    const std::span<const std::uint32_t> indices =
        layout_->fragment(std::get<Fragment>(coordinates).id);
    Vector values(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) values[i] = model[indices[i]];
    return values;
  }

  Result<HeardShare> admit(HeardShare share) const override {
    const LayoutKey& key = layout_->key();
    if (share->dimension != key.dimension)
      return Error{"dimension", fmt::format("a fragment of {} coordinates reached a model of {}",
                                            share->dimension, key.dimension)};
    const auto* fragment = std::get_if<Fragment>(&share->coordinates);
    if (!fragment) return Error{"coordinates", "a share that is no fragment reached fragments"};
    if (fragment->count != key.count || fragment->layout_seed != key.seed)
      return Error{"layout", fmt::format("a fragment of {} pieces of another layout; ours has {}",
                                         fragment->count, key.count)};
    const std::size_t expected =
        fragment->id < key.count ? layout_->fragment(fragment->id).size() : 0;
    if (share->values.size() != expected)
      return Error{"count", fmt::format("{} values came for fragment {} of {} coordinates",
                                        share->values.size(), fragment->id, expected)};
    return share;
  }

  // Fragments do not overlap: to the rule each one is a small vector of its own, which every copy
  // tells whole.
  void merge(std::span<float> model, std::span<const Contribution> others) override {
    const CopiesByFragment heard = by_fragment(others);
    Vector own;
    for (std::uint32_t id = 0; id < layout_->count(); ++id) {
      const std::span<const Copy> copies = heard.of(id);
      if (copies.empty()) continue;
      const std::span<const std::uint32_t> indices = layout_->fragment(id);
      own.resize(indices.size());
      for (std::size_t i = 0; i < indices.size(); ++i) own[i] = model[indices[i]];
      rule_->average(own, copies);
      for (std::size_t i = 0; i < indices.size(); ++i) model[indices[i]] = own[i];
    }
  }

  std::uint32_t pieces() const override { return layout_->count(); }
  bool tells_every_piece() const override {
    for (std::uint32_t id = 0; id < layout_->count(); ++id)
      if (layout_->fragment(id).empty()) return false;
    return true;
  }
  std::uint32_t piece_of(const Share& share) const override {
    return std::get<Fragment>(share.coordinates).id;
  }

 private:
  // One fragment's after the other's, each in the order they were told in.
  struct CopiesByFragment {
    std::vector<Copy> all{};
    std::vector<std::size_t> ends{};  // Of each fragment's.
    std::span<const Copy> of(std::uint32_t id) const {
      const std::size_t begin = id == 0 ? 0 : ends[id - 1];
      return std::span(all).subspan(begin, ends[id] - begin);
    }
  };
  CopiesByFragment by_fragment(std::span<const Contribution> others) const {
    CopiesByFragment sorted;
    sorted.all.resize(others.size());
    sorted.ends.resize(layout_->count());
    std::vector<std::size_t>& ends = sorted.ends;
    for (const Contribution& other : others) ++ends[piece_of(*other.share)];
    std::exclusive_scan(ends.begin(), ends.end(), ends.begin(), std::size_t{0});
    // Each end starts out at its fragment's beginning and moves on with every copy.
    for (const Contribution& other : others)
      sorted.all[ends[piece_of(*other.share)]++] = {.weight = other.weight,
                                                    .values = other.share->values};
    return sorted;
  }

  std::shared_ptr<const FragmentLayout> layout_;
  std::shared_ptr<const Rule> rule_;
};

}  // namespace

std::unique_ptr<Sharing> make_fragments(Options& options, const SharingContext& context) {
  constexpr double kFractionMin = 1e-4;  // Ten thousand messages a round are enough.
  const double fraction = options.number("fraction", 0.1, between(kFractionMin, 1));
  // A hair is added before rounding down: 1 / 0.1 and its like must not become 9.
  const auto count = std::max(1u, static_cast<std::uint32_t>(1 / fraction + 1e-9));
  return std::make_unique<Fragments>(
      FragmentLayout::shared({.dimension = context.dimension,
                              .tensors = context.tensors,
                              .count = count,
                              .seed = Random(context.seed).fork("fragments").bits64()}),
      rule_or(context, "present"));
}

}  // namespace tessera
