#include "node/node.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "math/vector_ops.h"
#include "sharing/doubt.h"

namespace tessera {

Node::Node(NodeParts parts)
    : id_(parts.id),
      run_(parts.run),
      model_(std::move(parts.model)),
      sharing_(std::move(parts.sharing)),
      protocol_(std::move(parts.protocol)),
      codec_(parts.codec),
      random_(parts.random) {
  if (sharing_->pieces() > 1 && !protocol_->takes_pieces())
    throw std::invalid_argument(
        "the sharing cuts the model into pieces and the protocol sends it whole: use "
        "protocol=divshare, or a sharing without pieces (full; jwins:pieces=1)");
  sharing_->start(model());
}

void Node::handle(Event event, Env& env) {
  CHECK(env_ == nullptr);
  if (finished_ || diverged_) return;
  env_ = &env;
  std::visit([this](auto& what) { on(std::move(what)); }, event);
  env_ = nullptr;
}

void Node::on(Started) {
  model_.forget_training();
  protocol_->on_start(*this);
}
void Node::on(Woke) {
  protocol_->on_wake(*this);
}

void Node::on(Trained trained) {
  model_.end_training(std::move(trained.model), trained.loss);
  diverged_ = !(model_.norm() <= kNormMax);
  if (diverged_) return;
  protocol_->on_trained(*this);
}

void Node::on(Arrived arrived) {
  const NodeId from = arrived.from;
  Result<Message> message = decode(*arrived.payload.bytes);
  if (!message.ok()) return refuse(from, message.error().kind);
  if (message->envelope.run != run_) return refuse(from, "run");
  // The transport knows who it talks to; a message that says otherwise is forged or misrouted.
  if (message->envelope.sender != from) return refuse(from, "sender");
  Result<Share> share = sharing_->admit(std::move(message->share));
  if (!share.ok()) return refuse(from, share.error().kind);
  const OwnSize own{.norm = model_.norm(), .parameters = model().size()};
  if (const auto why = doubt(share->values, own); !why.empty()) return refuse(from, why);
  protocol_->on_share(*this, from, message->heading, *std::move(share));
}

void Node::train() {
  model_.begin_training();
  env_->train(model(), random_.fork("train", age()));
}

std::vector<Share> Node::pack() {
  return sharing_->pack(model(), random_.fork("pack", packed_++));
}

Share Node::pack_whole() {
  std::vector<Share> shares = pack();
  CHECK(shares.size() == 1);
  return std::move(shares.front());
}

void Node::send(const Heading& heading, const Share& share, std::span<const NodeId> peers) {
  if (peers.empty()) return;
  const Payload payload = encode(heading, share);
  for (const NodeId peer : peers) env_->send(peer, payload);
}

Payload Node::encode(const Heading& heading, const Share& share) {
  Encoded encoded = tessera::encode(heading, share, codec_, {.run = run_, .sender = id_},
                                    random_.fork("rounding", sent_++));
  return {std::make_shared<const Bytes>(std::move(encoded.bytes)), encoded.value_bytes};
}

void Node::send(const Payload& payload, NodeId peer) {
  env_->send(peer, payload);
}

void Node::merge(std::span<const Contribution> others) {
  sharing_->merge(model_.to_merge(), others);
}

void Node::drop_unsent() {
  env_->drop_unsent();
}

Instant Node::now() const {
  return env_->now();
}

void Node::wake_after(Duration delay) {
  env_->wake_after(delay);
}

void Node::refuse(NodeId from, std::string_view reason) {
  ++refusals_[std::string(reason)][from];
}

Node::Counts Node::refusals() const {
  Counts counts;
  for (const auto& [reason, senders] : refusals_)
    for (const auto& [from, count] : senders) counts[reason] += count;
  return counts;
}

bool Node::is_ordinary(std::string_view refusal) {
  constexpr std::array<std::string_view, 5> kWords = {"late", "early", "duplicate", "stale",
                                                      "unasked"};
  return std::find(kWords.begin(), kWords.end(), refusal) != kWords.end();
}

void Node::note(std::string_view what, std::uint64_t times) {
  if (times > 0) notes_[std::string(what)] += times;
}

void Node::fields(Archive& archive) {
  if (archive.loading()) diverged_ = false;
  CHECK(!diverged_);
  archive(model_, packed_, sent_, finished_, refusals_, notes_);
  sharing_->fields(archive);
  protocol_->fields(archive);
  if (!archive.loading() || !archive.ok().ok()) return;
  archive.require(admits_what_is_kept(), "a saved share is not for this model");
  archive.require(!training() || waiting_for().empty(), "a saved node trains and waits at once");
}

std::size_t Node::kept_bytes() const {
  std::size_t bytes = 0;
  for (const Share* const share : protocol_->kept()) {
    const auto* const listed = std::get_if<Listed>(&share->coordinates);
    bytes += sizeof(float) * share->values.size();
    bytes += listed ? sizeof(std::uint32_t) * listed->indices.size() : 0;
  }
  return bytes;
}

bool Node::admits_what_is_kept() const {
  const std::vector<const Share*> kept = protocol_->kept();
  return std::all_of(kept.begin(), kept.end(), [this](const Share* share) {
    return std::isfinite(squared_norm(share->values)) && sharing_->admit(*share).ok();
  });
}

}  // namespace tessera
