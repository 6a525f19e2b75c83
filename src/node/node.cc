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
      samples_(parts.samples),
      model_(std::move(parts.model)),
      first_{parts.run, std::move(parts.sharing), std::move(parts.protocol), parts.codec},
      random_(parts.random) {
  if (parts.merge) merge_.emplace(Merge{.parts = *std::move(parts.merge)});
  const Sharing& sharing = *first_.sharing;
  if (!first_.protocol->take_pieces({sharing.pieces(), sharing.tells_every_piece()}))
    throw std::invalid_argument(
        sharing.tells_every_piece()
            ? "the sharing cuts the model into pieces and the protocol sends it whole: use "
              "protocol=divshare or epidemic, dpsgd on a redrawn topology, or a sharing without "
              "pieces (full; jwins:pieces=1)"
            : "the sharing may leave pieces out and the protocol sends whole models, or waits for "
              "all pieces: use protocol=divshare, sharing=fragments, or a sharing without pieces "
              "(full; jwins:pieces=1)");
  first_.sharing->start(model());
  if (merge_) merge_->parts.voice.sharing->start(model());
}

template <typename Act>
void Node::let_speak(bool second, Act act) {
  const bool before = std::exchange(second_speaks_, second);
  act(*speaking().protocol);
  second_speaks_ = before;
}

void Node::handle(Event&& event, Env& env) {
  CHECK(env_ == nullptr);
  if (finished_ || diverged_) return;
  env_ = &env;
  std::visit([this](auto& what) { on(std::move(what)); }, event);
  env_ = nullptr;
}

void Node::on(Started) {
  model_.forget_training();
  let_speak(merging(), [this](Protocol& protocol) { protocol.on_start(*this); });
}
void Node::on(Woke) {
  let_speak(merging(), [this](Protocol& protocol) { protocol.on_wake(*this); });
}

void Node::on(Trained trained) {
  // It was under way when the last merge began, and nobody would be told of it any more.
  if (merging()) return model_.forget_training();
  model_.end_training(std::move(trained.model), trained.loss);
  diverged_ = !(model_.norm() <= kNormMax);
  if (diverged_) return;
  first_.protocol->on_trained(*this);
}

void Node::on(Arrived arrived) {
  const NodeId from = arrived.from;
  const Result<ReadMessage>& read = arrived.payload.letter->read();
  if (!read) return refuse(from, read.error().kind);
  const Message& message = *read->message;
  const bool second = merge_ && message.envelope.run == merge_->parts.voice.run;
  const Voice& voice = second ? merge_->parts.voice : first_;
  if (message.envelope.run != voice.run) return refuse(from, "run");
  // The transport knows who it talks to; a message that says otherwise is forged or misrouted.
  if (message.envelope.sender != from) return refuse(from, "sender");
  if (!second && merge_ && merge_->last) return;
  // Protocols that wait for nobody may act at once on what they hear, and it would meet a model
  // that is being merged.
  if (!second && merging() && merge_->by_time()) return refuse(from, "late");
  Result<HeardShare> share = voice.sharing->admit(read->share());
  const OwnSize own{.norm = model_.norm(), .parameters = model().size()};
  const std::string_view why = share.ok() ? doubt(read->norm, own) : share.error().kind;
  if (!why.empty()) refuse(from, why);
  let_speak(second, [&](Protocol& protocol) {
    if (!why.empty()) return protocol.on_refused(*this, from, message.heading);
    protocol.on_share(*this, from, message.heading, *std::move(share));
  });
}

Round Node::rounds_done() const {
  const Round done = first_.protocol->rounds_done();
  return merging() && done > 0 ? done - 1 : done;
}

void Node::train() {
  if (merge_) pass_over_merges(false);
  if (merge_is_due()) return begin_merge();
  begin_training();
}

void Node::begin_training() {
  model_.begin_training();
  env_->train(model(), random_.fork("train", age()));
}

void Node::finish() {
  if (second_speaks_) return end_merge();
  if (!merge_) {
    finished_ = true;
    return;
  }
  merge_->last = true;
  pass_over_merges(true);
  begin_merge();
}

bool Node::merge_is_due() const {
  if (!merge_) return false;
  const MergeParts& parts = merge_->parts;
  const Round merged = merge_->merged;
  if (merge_->by_time())
    return (parts.times == 0 || merged < parts.times) &&
           now() >= Instant(parts.period * (std::int64_t{merged} + 1));
  if (parts.every == 0) return false;
  const Round done = first_.protocol->rounds_done();
  return done != merged && done % parts.every == 0;
}

// Who was away while others merged would wait for nobody, merge after merge. Before the end, the
// merge that was due last is gone through, however late: where trainings are long, others are late.
void Node::pass_over_merges(bool at_end) {
  const MergeParts& parts = merge_->parts;
  const Duration since_start = now().time_since_epoch();
  if (!merge_->by_time() || parts.lasts_max == Duration::zero() || since_start < parts.lasts_max)
    return;
  auto over = static_cast<Round>((since_start - parts.lasts_max) / parts.period);
  if (parts.times > 0) over = std::min(over, parts.times);
  if (!at_end && over > 0)
    over = std::min(over, static_cast<Round>(since_start / parts.period) - 1);
  if (over <= merge_->merged) return;
  note("missed a merge", over - merge_->merged);
  merge_->merged = over;
}

Round Node::merge_number() const {
  if (merge_->by_time()) return merge_->merged;
  return merge_->parts.every > 0 ? rounds_done() / merge_->parts.every : 0;
}

void Node::begin_merge() {
  merge_->under_way = true;
  let_speak(true, [this](Protocol& protocol) { protocol.on_start(*this); });
}

// All nodes have one model now, as they had when the run began: the first voice's sharing starts
// anew. One that came to its end late may have a merge before the last to go through.
void Node::end_merge() {
  merge_->under_way = false;
  const bool was_final = merge_->is_final();
  merge_->merged = merge_->by_time() ? merge_->merged + 1 : first_.protocol->rounds_done();
  if (was_final) {
    finished_ = true;
    return;
  }
  if (merge_->last) return begin_merge();
  first_.sharing->start(model());
  begin_training();
}

std::vector<Share> Node::pack() {
  return speaking().sharing->pack(model(), random_.fork("pack", packed_++));
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
  Encoded encoded = tessera::encode(heading, share, codec(), {.run = speaking().run, .sender = id_},
                                    random_.fork("rounding", sent_++));
  return {std::make_shared<const Letter>(std::move(encoded.bytes)), encoded.value_bytes};
}

void Node::send(const Payload& payload, NodeId peer) {
  env_->send(peer, payload);
}

void Node::merge(std::span<const Contribution> others) {
  speaking().sharing->merge(model_.to_merge(), others);
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

WordCounts Node::refusals() const {
  WordCounts counts;
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
  first_.sharing->fields(archive);
  first_.protocol->fields(archive);
  if (merge_) {
    archive(merge_->under_way, merge_->last, merge_->merged);
    merge_->parts.voice.protocol->fields(archive);
  }
  if (!archive.loading() || !archive.ok()) return;
  archive.require(admits_what_is_kept(), "a saved share is not for this model");
  archive.require(
      !merge_ || merge_->under_way != merge_->parts.voice.protocol->waiting_for().empty(),
      "a saved merge is under way and is not");
  archive.require(!merge_ || !merge_->last || merge_->under_way || finished_,
                  "a saved node has done with all but its last merge");
  archive.require(!training() || merging() || waiting_for().empty(),
                  "a saved node trains and waits at once");
}

std::size_t Node::kept_bytes() const {
  std::size_t bytes = 0;
  for (const Share* const share : kept()) {
    const Indices* const indices = listed_in(share->coordinates);
    bytes += sizeof(float) * share->values.size();
    bytes += indices ? sizeof(std::uint32_t) * indices->size() : 0;
  }
  return bytes;
}

std::vector<const Share*> Node::kept() const {
  std::vector<const Share*> shares = first_.protocol->kept();
  if (!merge_) return shares;
  for (const Share* const share : merge_->parts.voice.protocol->kept()) shares.push_back(share);
  return shares;
}

bool Node::admits_what_is_kept() const {
  const auto all_admitted = [](const Voice& voice) {
    const std::vector<const Share*> kept = voice.protocol->kept();
    return std::all_of(kept.begin(), kept.end(), [&](const Share* share) {
      const HeardShare lent(HeardShare(), share);  // The protocol owns it.
      return std::isfinite(squared_norm(share->values)) && voice.sharing->admit(lent).ok();
    });
  };
  return all_admitted(first_) && (!merge_ || all_admitted(merge_->parts.voice));
}

}  // namespace tessera
