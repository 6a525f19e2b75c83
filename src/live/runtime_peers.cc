// The part of the Runtime that is about other processes: waiting for them, asking them for a model,
// and what they say besides shares.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/text.h"
#include "live/runtime.h"

namespace tessera {
namespace {

constexpr Duration kJoinWithin = std::chrono::seconds(5);
constexpr Duration kMeetWithin = std::chrono::seconds(2);
constexpr Duration kAskNap = std::chrono::milliseconds(20);
constexpr Duration kGatherQuietly = std::chrono::seconds(1);
constexpr Duration kGatherNap = std::chrono::milliseconds(2);
constexpr auto kAwaitNap = std::chrono::milliseconds(100);
constexpr auto kTellWithin = std::chrono::seconds(1);

std::optional<Begun> decode_begun(ByteSpan message) {
  if (!is_control(message)) return std::nullopt;
  const Result<Control> control = decode_control(message, 0);
  const Begun* begun = control.ok() ? std::get_if<Begun>(&*control) : nullptr;
  return begun == nullptr ? std::nullopt : std::optional(*begun);
}

}  // namespace

// Whether they have come. Until then nobody is there to hear from: the roster changes by its file.
bool Runtime::await_members() {
  const auto missing = [this] {
    const std::size_t members =
        parts_.membership == nullptr ? ~0u : parts_.membership->roster().members().size();
    return members < options_.begin_with ? options_.begin_with - members : 0;
  };
  if (missing() > 0)
    parts_.observer->say(LogLevel::kInfo, fmt::format("waits for {} more members, to begin with {}",
                                                      missing(), options_.begin_with));
  while (missing() > 0) {
    if (leaving_.asked() || parts_.membership->is_removed()) return false;
    std::this_thread::sleep_for(kAwaitNap);
    parts_.observer->on_tick();
    parts_.membership->tick();
    watch_peers();
    if (status_.is_old(parts_.transport->now()))
      post_beginning("gathering", fmt::format("{} more members", missing()));
  }
  return true;
}

// Those to whom we keep links, and by the word of those, whoever else there is. One that learns
// something else is there, but will not come.
bool Runtime::all_are_there() {
  const std::vector<PeerState> peers = parts_.transport->peers();
  bool links_stand = true;
  for (const PeerState& peer : peers) {
    const bool there = peer.alive() || peer.disagrees;
    if (there) company_.census.saw(peer.id);
    links_stand = links_stand && (there || !peer.wanted);
  }
  return links_stand && company_.census.complete(peers);
}

void Runtime::gather() {
  company_.contacts.gather(node_->rounds_done());
  const Instant until = parts_.transport->now() + options_.gather;
  const Instant told_at = parts_.transport->now() + kGatherQuietly;
  bool told = false, others_train = false;
  while (parts_.transport->now() < until && !leaving_.asked() && !all_are_there()) {
    // Who sends a share has begun. What comes after it waits in the transport.
    if (others_train)
      std::this_thread::sleep_for(kGatherNap);
    else if (std::optional<Incoming> incoming = parts_.transport->receive(kGatherNap)) {
      others_train = !is_control(incoming->bytes);
      if (others_train)
        company_.census.begin(), joining_.keep(std::move(*incoming));
      else
        hear(std::move(*incoming));
    }
    watch_peers();
    if (status_.is_old(parts_.transport->now())) {
      post_beginning("gathering");
      parts_.observer->on_tick();  // Somebody may be invited in a missing one's place.
    }
    if (told || parts_.transport->now() < told_at) continue;
    told = true;
    parts_.observer->say(LogLevel::kInfo,
                         fmt::format("waits up to {} for {} before it begins",
                                     show_duration(options_.gather), status_.read().waiting_for));
  }
  company_.tell_census(true);  // Who waits for it must not wait for our answers.
  refuse_to_be_alone();
}

// What is known of a node that has not begun, by the transport's clock: the run's stands still.
void Runtime::post_beginning(const char* state, std::string waiting_for) {
  std::string missing = std::move(waiting_for);
  for (const PeerState& peer : parts_.transport->peers())
    if (!peer.alive() && (peer.wanted || !company_.census.was_there(peer.id)))
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", peer.name);
  status_.post(parts_.transport->now(), {.name = parts_.name,
                                         .id = parts_.id,
                                         .state = state,
                                         .waiting_for = missing,
                                         .round = node_->rounds_done(),
                                         .rounds = options_.rounds,
                                         .age = node_->age()});
}

// Where more than half of the others learn something else, the slip is most likely ours. They hear
// of it before we go.
void Runtime::refuse_to_be_alone() {
  const Census::Dissent dissent = company_.census.dissent(parts_.transport->peers());
  if (!dissent.of_most()) return;
  std::this_thread::sleep_for(kTellWithin);
  parts_.transport->close();
  throw std::invalid_argument(
      fmt::format("{} of the {} others learn something else, and nothing was trained. {}",
                  dissent.differing, dissent.others, dissent.first));
}

// What peers say besides waits until the node is started.
void Runtime::join() {
  post_beginning("joining");
  joining_.ask();
  const Instant until = parts_.transport->now() + kJoinWithin;
  while (joining_.waits_for_answers() && parts_.transport->now() < until && !leaving_.asked()) {
    watch_peers();
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
      LogLevel::kInfo,
      fmt::format("begins with the model of {}, which has completed {} rounds; {} offer{} compared",
                  name_of(from), offer.rounds, compared, compared == 1 ? " was" : "s were"));
  node_ = parts_.make_node(offer.model);
  effort_.join(rounds_min);
  parts_.observer->on_adopted(clock_.now(), offer.model);
}

// A node that comes back says nothing of its model, and answers nothing, before the peers it knew
// have shown that they are of the same run: to another one its last messages would be of rounds far
// ahead. Where too few of them are there, it goes on after a while.
void Runtime::meet_again() {
  company_.contacts.gather(node_->rounds_done());
  if (company_.contacts.chosen()) company_.acquaintances.expect(company_.contacts.wanted());
  post_beginning("joining");
  const Instant until = parts_.transport->now() + kMeetWithin;
  while (!company_.acquaintances.confirmed() && parts_.transport->now() < until &&
         !leaving_.asked()) {
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
      parts_.observer->say(level_of(peer.condition), *line);
    if (peer.alive()) greet(peer);
  }
  company_.tell_census();
}

void Runtime::greet(const PeerState& peer) {
  const bool anew = company_.greet(peer);
  if (parts_.membership != nullptr) parts_.membership->meet(peer.id, anew);
  if (!anew) return;
  leaving_.peer_came_back(peer.id);
  parts_.transport->send(peer.id, encode_control(Begun{company_.acquaintances.birth()}),
                         MessageClass::kControl);
  if (leaving_.finished())
    parts_.transport->send(peer.id, encode_control(Finished{}), MessageClass::kControl);
}

// To those whom we have a link to; who has been idle is told by the census.
void Runtime::say_finished() {
  const auto word = encode_control(Finished{});
  for (const PeerState& peer : parts_.transport->peers())
    if (peer.wanted || peer.condition != PeerCondition::kIdle)
      parts_.transport->send(peer.id, word, MessageClass::kControl);
}

void Runtime::on_control(NodeId from, const Control& control) {
  if (std::holds_alternative<Finished>(control)) {
    leaving_.peer_finished(from);
    company_.census.finished(from);
  } else if (const auto* request = std::get_if<ModelRequest>(&control)) {
    on_request(from, *request);
  } else if (const auto* offer = std::get_if<ModelOffer>(&control)) {
    on_offer(from, *offer);
  } else if (const auto* begun = std::get_if<Begun>(&control)) {
    on_begun(from, *begun);
  } else if (const auto* told = std::get_if<CensusTold>(&control)) {
    company_.census.hear(*told, parts_.transport->peers());
  } else if (parts_.membership != nullptr) {
    parts_.membership->hear(from, control);
  }
}

// It may have left since it spoke.
std::string Runtime::name_of(NodeId peer) const {
  for (const PeerState& state : parts_.transport->peers())
    if (state.id == peer) return state.name;
  return fmt::format("node {}", peer);
}

// Its last messages, told (sent) again, would be those of a finished run to one that has just
// begun.
void Runtime::on_begun(NodeId from, const Begun& begun) {
  company_.acquaintances.meet(from, begun.birth);
  if (!company_.acquaintances.outlived()) return;
  throw std::invalid_argument(
      fmt::format("{}'s folder is of an earlier run: {} of the {} peers that it knew have begun "
                  "anew since. Move it away and start again",
                  parts_.name, company_.acquaintances.born_anew(), company_.acquaintances.known()));
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
  const std::string name = name_of(from);
  if (refusal.empty())
    return parts_.observer->say(
        LogLevel::kInfo,
        fmt::format("{} is not far ahead, having completed {} rounds", name, offer.rounds));
  parts_.observer->say(LogLevel::kWarning,
                       fmt::format("the model that {} offers is refused: {}", name, refusal));
}

}  // namespace tessera
