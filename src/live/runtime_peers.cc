// The part of the Runtime that is about other processes: waiting for them, asking them for a model,
// and what they say besides shares.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "live/runtime.h"

namespace tessera {
namespace {

constexpr Duration kJoinWithin = std::chrono::seconds(5);
constexpr Duration kMeetWithin = std::chrono::seconds(2);
constexpr Duration kAskNap = std::chrono::milliseconds(20);
constexpr auto kGatherNap = std::chrono::milliseconds(2);
constexpr auto kTellWithin = std::chrono::seconds(1);

std::optional<Begun> decode_begun(ByteSpan message) {
  if (!is_control(message)) return std::nullopt;
  const Result<Control> control = decode_control(message, 0);
  const Begun* begun = control.ok() ? std::get_if<Begun>(&*control) : nullptr;
  return begun == nullptr ? std::nullopt : std::optional(*begun);
}

}  // namespace

void Runtime::gather() {
  const Instant until = parts_.transport->now() + options_.gather;
  // One that learns something else will not come.
  const auto all_settled = [this] {
    const std::vector<PeerState> peers = parts_.transport->peers();
    return std::all_of(peers.begin(), peers.end(),
                       [](const PeerState& peer) { return peer.alive() || peer.disagrees; });
  };
  // What arrives meanwhile waits in the transport.
  while (parts_.transport->now() < until && !leaving_.asked() && !all_settled()) {
    std::this_thread::sleep_for(kGatherNap);
    watch_peers();
  }
  refuse_to_be_alone();
}

// Where more than half of the others learn something else, the slip is most likely ours. They hear
// of it before we go.
void Runtime::refuse_to_be_alone() {
  std::string reasons;
  std::size_t differing = 0;
  const std::vector<PeerState> peers = parts_.transport->peers();
  for (const PeerState& peer : peers) {
    if (!peer.disagrees) continue;
    if (differing++ == 0) reasons = fmt::format("{}: {}", peer.name, peer.reason);
  }
  if (2 * differing <= peers.size()) return;
  std::this_thread::sleep_for(kTellWithin);
  parts_.transport->close();
  throw std::invalid_argument(
      fmt::format("{} of the {} others learn something else, and nothing was trained. {}",
                  differing, peers.size(), reasons));
}

// What peers say besides waits until the node is started.
void Runtime::join() {
  joining_.ask();
  const Instant until = parts_.transport->now() + kJoinWithin;
  while (joining_.waits_for_answers() && parts_.transport->now() < until && !leaving_.asked()) {
    std::optional<Incoming> incoming = parts_.transport->receive(kAskNap);
    if (!incoming) continue;
    if (is_control(incoming->bytes))
      hear(std::move(*incoming));
    else
      joining_.keep(std::move(*incoming));
  }
  if (const auto choice = joining_.choose(node_->model())) begin_with(*choice);
}

void Runtime::begin_with(const Joining::Choice& choice) {
  const auto& [from, offer, rounds_min, compared] = choice;
  parts_.observer->say(
      fmt::format("begins with the model of {}, which has completed {} rounds; {} offer{} compared",
                  parts_.transport->peer(from).name, offer.rounds, compared,
                  compared == 1 ? " was" : "s were"));
  node_ = parts_.make_node(offer.model);
  effort_.join(rounds_min);
  parts_.observer->on_adopted(clock_.now(), offer.model);
}

// A node that comes back says nothing of its model, and answers nothing, before the peers it knew
// have shown that they are of the same run: to another one its last messages would be of rounds far
// ahead. Where too few of them are there, it goes on after a while.
void Runtime::meet_again() {
  const Instant until = parts_.transport->now() + kMeetWithin;
  while (!acquaintances_.confirmed() && parts_.transport->now() < until && !leaving_.asked()) {
    watch_peers();
    std::optional<Incoming> incoming = parts_.transport->receive(kAskNap);
    if (!incoming) continue;
    if (const std::optional<Begun> begun = decode_begun(incoming->bytes))
      on_begun(incoming->from, *begun);
    else
      joining_.keep(std::move(*incoming));
  }
  refuse_to_be_alone();
}

void Runtime::watch_peers() {
  for (const PeerState& peer : parts_.transport->take_changes()) {
    if (const std::optional<std::string> line = peer_log_.line(peer, parts_.transport->now()))
      parts_.observer->say(*line);
    if (!peer.alive()) continue;
    leaving_.peer_came_back(peer.id);
    parts_.transport->send(peer.id, encode_control(Begun{acquaintances_.birth()}),
                           MessageClass::kControl);
    if (leaving_.finished())
      parts_.transport->send(peer.id, encode_control(Finished{}), MessageClass::kControl);
  }
}

void Runtime::say_finished() {
  const auto word = encode_control(Finished{});
  for (const PeerState& peer : parts_.transport->peers())
    parts_.transport->send(peer.id, word, MessageClass::kControl);
}

void Runtime::on_control(NodeId from, const Control& control) {
  if (std::holds_alternative<Finished>(control)) {
    leaving_.peer_finished(from);
  } else if (const auto* request = std::get_if<ModelRequest>(&control)) {
    on_request(from, *request);
  } else if (const auto* offer = std::get_if<ModelOffer>(&control)) {
    on_offer(from, *offer);
  } else if (const auto* begun = std::get_if<Begun>(&control)) {
    on_begun(from, *begun);
  }
}

// Its last messages, told (sent) again, would be those of a finished run to one that has just
// begun.
void Runtime::on_begun(NodeId from, const Begun& begun) {
  acquaintances_.meet(from, begun.birth);
  if (!acquaintances_.outlived()) return;
  throw std::invalid_argument(
      fmt::format("{}'s folder is of an earlier run: {} of the {} peers that it knew have begun "
                  "anew since. Move it away and start again",
                  parts_.name, acquaintances_.born_anew(), acquaintances_.known()));
}

void Runtime::on_request(NodeId from, const ModelRequest& request) {
  const auto offer = joining_.answer(from, request, node_->rounds_done(), node_->model());
  if (!offer) return status_.count_refusal("asked-too-often");
  parts_.transport->send(from, encode_control(*offer), MessageClass::kOffer);
}

void Runtime::on_offer(NodeId from, const ModelOffer& offer) {
  const Joining::Verdict verdict = joining_.judge(from, offer, node_->model());
  const std::string_view refusal = refusal_of(verdict);
  if (!refusal.empty()) status_.count_refusal(refusal);
  if (verdict == Joining::Verdict::kKept || verdict == Joining::Verdict::kUnasked) return;
  const std::string name = parts_.transport->peer(from).name;
  if (refusal.empty())
    return parts_.observer->say(
        fmt::format("{} is not far ahead, having completed {} rounds", name, offer.rounds));
  parts_.observer->say(fmt::format("the model that {} offers is refused: {}", name, refusal));
}

}  // namespace tessera
