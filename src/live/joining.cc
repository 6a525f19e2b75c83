#include "live/joining.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "live/nonce.h"
#include "math/vector_ops.h"

namespace tessera {
namespace {

constexpr std::size_t kKeptBytesMax = 64 << 20;
constexpr std::size_t kKeptBytesMuch = 8 << 20;
// Each answer holds a model until all are there.
constexpr std::size_t kAskedMax = 5;
constexpr Duration kAnswerEvery = std::chrono::seconds(1);
// How much larger the values of a trained model may be than those one begins with, or than 1 where
// those are small.
constexpr double kProportionMax = 100;

// Not finite where one of the values is not.
double root_mean_square(std::span<const float> values) {
  return std::sqrt(squared_norm(values) / static_cast<double>(values.size()));
}

double distance(std::span<const float> a, std::span<const float> b) {
  return std::sqrt(squared_distance(a, b));
}

// The smallest of messages takes its place.
std::size_t held_by(const Incoming& incoming) {
  return incoming.bytes.size() + sizeof(Incoming);
}

}  // namespace

std::string_view refusal_of(Joining::Verdict verdict) {
  switch (verdict) {
    case Joining::Verdict::kUnasked:
      return "unasked";
    case Joining::Verdict::kNotFinite:
      return "not-finite";
    case Joining::Verdict::kTooLarge:
      return "too-large";
    default:
      return {};
  }
}

void Joining::ask() {
  for (const PeerState& peer : transport_.peers()) {
    if (asked_.size() == kAskedMax) return;
    if (!peer.alive() || std::ranges::count(helpers_, peer.id) == 0) continue;
    const std::uint64_t nonce = draw_nonce();
    if (transport_.send(peer.id, encode_control(ModelRequest{.nonce = nonce}),
                        MessageClass::kControl))
      asked_[peer.id] = nonce;
  }
}

Joining::Verdict Joining::judge(NodeId from, ModelOffer offer, std::span<const float> own) {
  const auto question = asked_.find(from);
  if (question == asked_.end() || question->second != offer.nonce) return Verdict::kUnasked;
  asked_.erase(question);
  if (offer.rounds < far_behind_ || offer.model.empty()) return Verdict::kNotAhead;
  const double size = root_mean_square(offer.model);
  if (!std::isfinite(size)) return Verdict::kNotFinite;
  if (size > kProportionMax * std::max(1.0, root_mean_square(own))) return Verdict::kTooLarge;
  offers_[from] = std::move(offer);
  return Verdict::kKept;
}

// The medoid: the offer whose distances to all the others, and to our own model, are the least in
// sum. Of two it is the one nearer to where everybody began.
std::optional<Joining::Choice> Joining::choose(std::span<const float> own) {
  asked_.clear();
  const std::map<NodeId, ModelOffer> offers = std::exchange(offers_, {});
  if (offers.empty()) return std::nullopt;
  Choice choice{.rounds_min = offers.begin()->second.rounds, .compared = offers.size()};
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [from, offer] : offers) {
    double sum = distance(offer.model, own);
    for (const auto& [other, theirs] : offers) sum += distance(offer.model, theirs.model);
    choice.rounds_min = std::min(choice.rounds_min, offer.rounds);
    if (sum >= least) continue;
    least = sum;
    choice.from = from;
  }
  choice.offer = offers.at(choice.from);
  ++adoptions_;
  return choice;
}

std::optional<ModelOffer> Joining::answer(NodeId from, const ModelRequest& request, Round rounds,
                                          const Vector& model) {
  const Instant now = transport_.now();
  const auto before = answered_.find(from);
  if (before != answered_.end() && now - before->second < kAnswerEvery) return std::nullopt;
  answered_[from] = now;
  ModelOffer offer{.nonce = request.nonce, .rounds = rounds};
  if (rounds >= std::uint64_t{request.rounds} + far_behind_ &&
      std::isfinite(root_mean_square(model)))
    offer.model = model;
  return offer;
}

void Joining::keep(Incoming incoming) {
  kept_bytes_ += held_by(incoming);
  kept_bytes_of_[incoming.from] += held_by(incoming);
  kept_.push_back(std::move(incoming));
  // One of any length: it may be what a neighbour sends once and is waited for.
  while (kept_bytes_ > kKeptBytesMax && kept_.size() > 1) forget_one_kept();
}

bool Joining::keeps_much() const {
  return kept_bytes_ > kKeptBytesMuch;
}

// The oldest of whoever has the most: who floods us pushes out what is its own.
void Joining::forget_one_kept() {
  std::size_t most = 0;
  for (const auto& [from, bytes] : kept_bytes_of_) most = std::max(most, bytes);
  const auto oldest = std::ranges::find_if(
      kept_, [&](const Incoming& incoming) { return kept_bytes_of_[incoming.from] == most; });
  kept_bytes_ -= held_by(*oldest);
  kept_bytes_of_[oldest->from] -= held_by(*oldest);
  kept_.erase(oldest);
}

std::deque<Incoming> Joining::take_kept() {
  kept_bytes_ = 0;
  kept_bytes_of_.clear();
  return std::exchange(kept_, {});
}

}  // namespace tessera
