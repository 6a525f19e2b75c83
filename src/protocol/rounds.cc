#include "protocol/rounds.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "codec/wire.h"

namespace tessera {
namespace {

// How far ahead of us a peer may be. On a fixed graph it is one round, on a redrawn one a few; a
// peer beyond this is broken or hostile, and what it sends would only fill memory.
constexpr Round kRoundsAhead = 256;

float weight_of(Weights weights, std::size_t heard, const Share& share) {
  if (weights == Weights::kUniform) return 1.0f / static_cast<float>(heard + 1);
  return 1.0f / static_cast<float>(std::max<std::size_t>(heard, share.degree) + 1);
}

}  // namespace

void Rounds::on_start(Node& node) {
  if (round_ == options_.rounds) return node.finish();
  node.train();
}

void Rounds::on_trained(Node& node) {
  const std::vector<NodeId> targets = meetings_->targets(node.id(), round_);
  const std::vector<Share> shares = node.pack(round_, static_cast<std::uint32_t>(targets.size()));
  CHECK(shares.size() == 1);
  node.send(shares.front(), targets);
  told_ = true;
  finish_round_if_all_heard(node);
}

void Rounds::on_share(Node& node, NodeId from, Share share) {
  if (share.round < round_) return node.refuse("late");
  if (share.round - round_ > kRoundsAhead) return node.refuse("early");
  const std::vector<NodeId> sources = meetings_->sources(node.id(), share.round);
  if (!std::binary_search(sources.begin(), sources.end(), from)) return node.refuse("stranger");
  const Round round = share.round;
  if (!heard_[round].emplace(from, std::move(share)).second) return node.refuse("duplicate");
  finish_round_if_all_heard(node);
}

void Rounds::finish_round_if_all_heard(Node& node) {
  if (!told_) return;
  const std::map<NodeId, Share>& heard = heard_[round_];
  if (heard.size() < meetings_->sources(node.id(), round_).size()) return;
  std::vector<Contribution> others;
  for (const auto& [from, share] : heard)
    others.push_back({weight_of(options_.weights, heard.size(), share), &share});
  node.merge(others);
  heard_.erase(round_);
  ++round_;
  told_ = false;
  if (round_ == options_.rounds) return node.finish();
  node.train();
}

void Rounds::save(Bytes& out) const {
  ByteWriter writer(out);
  writer.put(round_);
  writer.put<std::uint8_t>(told_);
  std::uint32_t count = 0;
  for (const auto& [round, shares] : heard_) count += static_cast<std::uint32_t>(shares.size());
  writer.put(count);
  const Codec exact = parse_codec("raw32+f32");
  for (const auto& [round, shares] : heard_) {
    for (const auto& [from, share] : shares) {
      const Encoded encoded = encode(share, exact, {.sender = from}, Random(0));
      writer.put<std::uint64_t>(encoded.bytes.size());
      writer.put_bytes(encoded.bytes);
    }
  }
}

Result<void> Rounds::load(ByteReader& in) {
  round_ = in.get<Round>();
  told_ = in.get<std::uint8_t>() != 0;
  heard_.clear();
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    const ByteSpan bytes = in.get_bytes(in.get<std::uint64_t>());
    if (in.ran_short()) break;
    Result<Message> message = decode(bytes);
    if (!message.ok()) return message.error();
    const Round round = message->share.round;
    heard_[round].emplace(message->envelope.sender, std::move(message->share));
  }
  if (in.ran_short()) return Error{"checkpoint", "a saved protocol is cut short"};
  return {};
}

}  // namespace tessera
