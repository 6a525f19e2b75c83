// Partial sharing: transform the model, rank its coefficients by how much of their change is still
// untold, send the first of them. With wavelets and a random cut-off this is JWINS (Dhasade et al.,
// ICDCS 2023); without a transform and with a fixed one, top-k.
//
// The published form keeps an accumulator A of changes since a coefficient was last sent and ranks
// |A + change|. Since the transform is linear, that sum telescopes: with c the coefficients of the
// model now and r_k those of the model at the start of the round in which k was last sent (at
// first, of the initial model),
//
//   score_k = c_k - r_k,         on sending k:  r_k <- start_k
//
// where `start` transforms the model as it was after the last merge. A round is four transforms, as
// in the released code: of the model when it is packed and again when it is merged, back, and of
// the average. What travels is c itself, not the change. With relative=yes all coefficients are
// taken less those of the model that all nodes began with or last averaged to, which changes no
// score; c is small then, and a quantizer's few bits are finer.
//
// With pieces > 1 what is chosen travels in pieces, for protocols that scatter them as DivShare
// does; then, where the run names no rule, each coefficient becomes the mean of the copies present.
// In one piece a coefficient that a peer did not send counts as the receiver's own.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/check.h"
#include "math/select.h"
#include "math/vector_ops.h"
#include "sharing/average.h"
#include "sharing/budget.h"
#include "sharing/fragment_layout.h"
#include "sharing/sharing.h"
#include "sharing/transform.h"

namespace tessera {
namespace {

// What ranking remembers.
enum class Accumulate {
  kNothing,   // Rank by this round's training change alone.
  kTraining,  // Training changes add up until sent; what averaging changes is never counted.
  kRound,     // All changes add up until sent: the paper's setting.
};

struct PartialOptions {
  Budget budget{};
  Accumulate accumulate = Accumulate::kRound;
  // From this fraction on everything is sent, in one piece without indices.
  double full_above = 0.5;
  bool relative = false;  // Values are changes since all nodes had the same.
  std::uint32_t pieces = 1;
  std::uint64_t seed = 0;  // Of the cut, which must be the same on all nodes.
  std::shared_ptr<const Rule> rule{};
};

// Which piece a coefficient travels in: fixed for the run, so that a newer piece supersedes an
// older one. Neighbours stay together by the block, because gaps between neighbours are what index
// codecs make small; blocks are as many as it takes to give every piece some of everything.
class Cut {
 public:
  Cut(std::uint32_t dimension, std::uint32_t pieces, std::uint64_t seed)
      : block_bits_(
            static_cast<std::uint32_t>(std::bit_width(std::clamp<std::uint32_t>(
                                           dimension / (kBlocksPerPiece * pieces), 1, kBlockMax)) -
                                       1)),
        piece_of_block_((dimension >> block_bits_) + 1) {
    const FragmentLayout layout({.dimension = static_cast<std::uint32_t>(piece_of_block_.size()),
                                 .count = pieces,
                                 .seed = seed});
    for (std::uint32_t id = 0; id < pieces; ++id)
      for (const std::uint32_t block : layout.fragment(id)) piece_of_block_[block] = id;
  }

  std::uint32_t operator()(std::uint32_t k) const { return piece_of_block_[k >> block_bits_]; }

 private:
  static constexpr std::uint32_t kBlocksPerPiece = 16;
  static constexpr std::uint32_t kBlockMax = 256;
  std::uint32_t block_bits_;  // A block has this power of two of coefficients.
  Indices piece_of_block_;
};

class Partial final : public Sharing {
 public:
  Partial(std::uint32_t length, std::unique_ptr<Transform> transform, PartialOptions options)
      : transform_(std::move(transform)),
        options_(std::move(options)),
        length_(length),
        dimension_(static_cast<std::uint32_t>(transform_->coefficients())),
        cut_(dimension_, options_.pieces, options_.seed),
        start_(dimension_),
        memory_(options_.accumulate == Accumulate::kNothing ? 0 : dimension_) {}

  void start(std::span<const float> model) override {
    if (options_.relative) {
      base_.assign(dimension_, 0);
      transform_->forward(model, base_);
    }
    forward(model, start_);
    if (options_.accumulate == Accumulate::kRound) memory_ = start_;
  }

  std::vector<Share> pack(std::span<const float> model, const Random& random) override {
    CHECK(model.size() == length_);
    const Vector& coefficients = coefficients_of(model);
    count_training(coefficients);
    const double fraction = options_.budget.draw(random);
    const bool all = fraction >= options_.full_above;
    if (all && options_.pieces == 1) {
      remember_all_sent();
      Share share{.dimension = dimension_, .coordinates = Everything{}};
      share.values = coefficients;
      return {std::move(share)};
    }
    const std::size_t count = count_of(all ? 1 : fraction);
    if (options_.accumulate == Accumulate::kRound && options_.pieces == 1)
      return {most_changed(coefficients, count)};
    return in_pieces(rank(coefficients, count), coefficients);
  }

  Result<HeardShare> admit(HeardShare share) const override {
    Result<HeardShare> admitted = admit_for_averaging(std::move(share), dimension_);
    if (!admitted || options_.pieces == 1) return admitted;
    const auto* listed = std::get_if<Listed>(&(*admitted)->coordinates);
    if (!listed || listed->indices.empty())
      return Error{"coordinates", "a share that is no piece reached a node that expects pieces"};
    for (const std::uint32_t k : listed->indices)
      if (cut_(k) != cut_(listed->indices.front()))
        return Error{"layout", "a piece was cut another way: peers must use the same pieces="};
    return admitted;
  }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    if (!others.empty() || options_.accumulate == Accumulate::kTraining) {
      Vector& coefficients = coefficients_of(model);
      count_training(coefficients);
      if (!others.empty()) {
        average(*options_.rule, coefficients, others);
        if (options_.relative) add(coefficients, base_);
        transform_->inverse(coefficients, model);
      }
    }
    // Not the averaged coefficients themselves: where a transform has more coefficients than
    // values, as a wavelet has at its borders, those are not quite the transform of any model.
    forward(model, start_);
  }

  Vector told_of(std::span<const float> model, const Coordinates& coordinates) const override {
    Vector coefficients(dimension_);
    forward(model, coefficients);
    return values_at(coefficients, coordinates);
  }

  std::uint32_t pieces() const override { return options_.pieces; }
  std::uint32_t piece_of(const Share& share) const override {
    return options_.pieces == 1 ? 0 : cut_(std::get<Listed>(share.coordinates).indices.front());
  }

  void fields(Archive& archive) override {
    archive.same_length(start_);
    archive.same_length(memory_);
    if (options_.relative) archive.same_length(base_);
    archive(options_.budget);
  }

 private:
  // Valid until this thread asks for another's. To keep them from pack to merge saved no time over
  // another transform: with many nodes they come from memory by then.
  Vector& coefficients_of(std::span<const float> model) const {
    thread_local Vector coefficients;
    coefficients.resize(dimension_);
    forward(model, coefficients);
    return coefficients;
  }

  void forward(std::span<const float> model, Vector& coefficients) const {
    transform_->forward(model, coefficients);
    if (options_.relative) subtract(coefficients, base_, coefficients);
  }

  std::size_t count_of(double fraction) const {
    const double count = std::nearbyint(fraction * static_cast<double>(dimension_));
    return std::clamp<std::size_t>(static_cast<std::size_t>(count), 1, dimension_);
  }

  // What training changed since the last look. Asked before every pack and merge, so that each
  // change is counted once however the two alternate.
  void count_training(const Vector& coefficients) {
    if (options_.accumulate != Accumulate::kTraining) return;
    Vector change(dimension_);
    subtract(coefficients, start_, change);
    add(memory_, change);
    start_ = coefficients;
  }

  std::vector<Share> in_pieces(Indices chosen, const Vector& coefficients) const {
    std::vector<Listed> lists(options_.pieces);
    if (options_.pieces == 1)
      lists.front().indices = std::move(chosen);
    else
      for (const std::uint32_t k : chosen) lists[cut_(k)].indices.push_back(k);
    std::vector<Share> shares;
    for (Listed& listed : lists) {
      if (listed.indices.empty()) continue;
      Share& share = shares.emplace_back();
      share.dimension = dimension_;
      share.values.resize(listed.indices.size());
      std::transform(listed.indices.begin(), listed.indices.end(), share.values.begin(),
                     [&](std::uint32_t k) { return coefficients[k]; });
      share.coordinates = std::move(listed);
    }
    return shares;
  }

  // What rank() and in_pieces() make of it, in fewer passes.
  Share most_changed(const Vector& coefficients, std::size_t count) {
    LargestChanges changes = take_largest_changes(coefficients, memory_, start_, count);
    return {.dimension = dimension_,
            .coordinates = Listed{std::move(changes.indices)},
            .values = std::move(changes.values)};
  }

  // The coefficients with most untold change; those are told from now on.
  Indices rank(const Vector& coefficients, std::size_t count) {
    thread_local Vector scores;
    scores.resize(dimension_);
    switch (options_.accumulate) {
      case Accumulate::kNothing:
        subtract(coefficients, start_, scores);
        break;
      case Accumulate::kRound:
        subtract(coefficients, memory_, scores);
        break;
      case Accumulate::kTraining:
        scores = memory_;
        break;
    }
    Indices chosen;
    select_largest(scores, count, chosen);
    if (options_.accumulate == Accumulate::kRound)
      for (const std::uint32_t k : chosen) memory_[k] = start_[k];
    if (options_.accumulate == Accumulate::kTraining)
      for (const std::uint32_t k : chosen) memory_[k] = 0;
    return chosen;
  }

  void remember_all_sent() {
    if (options_.accumulate == Accumulate::kRound) memory_ = start_;
    if (options_.accumulate == Accumulate::kTraining)
      std::fill(memory_.begin(), memory_.end(), 0.0f);
  }

  std::unique_ptr<Transform> transform_;
  PartialOptions options_;
  std::uint32_t length_, dimension_;
  Cut cut_;
  Vector start_;   // The transform of the model after the last merge; for kTraining, at last look.
  Vector base_;    // What coefficients are relative to: the transform of the model at start().
  Vector memory_;  // r of the opening comment; the accumulator itself for kTraining.
};

std::unique_ptr<Sharing> make_partial(Options& options, const SharingContext& context,
                                      std::string_view transform, std::vector<double> budget,
                                      double full_above) {
  constexpr std::array<std::string_view, 3> kWords = {"no", "training", "round"};
  PartialOptions partial{.budget = Budget::read(options, std::move(budget), context.rounds)};
  const std::string accumulate = options.choice("accumulate", kWords, "round");
  if (accumulate == "no") partial.accumulate = Accumulate::kNothing;
  if (accumulate == "training") partial.accumulate = Accumulate::kTraining;
  partial.full_above = options.number("full_above", full_above, above(0));
  partial.relative = options.yes("relative", false);
  partial.pieces = static_cast<std::uint32_t>(options.integer("pieces", 1, between(1, 1e4)));
  partial.rule = rule_or(context, partial.pieces > 1 ? "present" : "gaps");
  if (partial.pieces > 1 && partial.rule->compares_peers())
    options.refuse("pieces",
                   "the run's rule compares whole copies, and pieces have different coordinates: "
                   "use pieces=1, or a rule by coordinate (trimmed, median)");
  partial.seed = Random(context.seed).fork("pieces").bits64();
  return std::make_unique<Partial>(
      context.dimension, make_transform(transform, options, context.dimension), std::move(partial));
}

}  // namespace

std::unique_ptr<Sharing> make_jwins(Options& options, const SharingContext& context) {
  constexpr std::array<std::string_view, 3> kWords = {"none", "wavelet", "fft"};
  const std::string transform = options.choice("transform", kWords, "wavelet");
  return make_partial(options, context, transform, {0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 1}, 0.5);
}

std::unique_ptr<Sharing> make_topk(Options& options, const SharingContext& context) {
  return make_partial(options, context, "none", {0.37}, 1);
}

}  // namespace tessera
