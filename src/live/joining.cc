#include "live/joining.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kTooEarlyBytesMax = 64 << 20;

}  // namespace

void Joining::ask() {
  for (const PeerState& peer : transport_.peers())
    if (peer.alive() && std::ranges::count(helpers_, peer.id) > 0 &&
        transport_.send(peer.id, encode_control(ModelRequest{0}), MessageClass::kControl))
      asked_.insert(peer.id);
}

Joining::Verdict Joining::judge(NodeId from, const ModelOffer& offer) {
  if (asked_.erase(from) == 0) return Verdict::kUnasked;
  if (offer.rounds < far_behind_ || offer.model.empty()) return Verdict::kNotAhead;
  asked_.clear();
  ++adoptions_;
  return Verdict::kTake;
}

ModelOffer Joining::answer(const ModelRequest& request, Round rounds, const Vector& model) const {
  ModelOffer offer{.rounds = rounds};
  if (rounds >= request.rounds + far_behind_) offer.model = model;
  return offer;
}

void Joining::keep(Incoming incoming) {
  too_early_bytes_ += incoming.bytes.size();
  too_early_.push_back(std::move(incoming));
  for (; too_early_bytes_ > kTooEarlyBytesMax; too_early_.pop_front())
    too_early_bytes_ -= too_early_.front().bytes.size();
}

std::deque<Incoming> Joining::take_kept() {
  too_early_bytes_ = 0;
  return std::exchange(too_early_, {});
}

}  // namespace tessera
