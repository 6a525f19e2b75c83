#include "live/link/transport.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace tessera {
namespace {

constexpr Duration kRestWithin = std::chrono::seconds(1);  // For the word to leave.

// Differs each time a process starts, which is all that is asked of it.
std::uint64_t new_session() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since).count()) | 1;
}

}  // namespace

Transport::Transport(NodeId self, std::span<const Member> members, const TransportOptions& options,
                     std::unique_ptr<Carrier> carrier)
    : options_(options), links_(self, options_, new_session()), carrier_(std::move(carrier)) {
  refuse_impossible(options_);
  set_members(members);
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Transport::rouse() {
  if (carrier_ != nullptr) carrier_->wake();
}

// ---- for the node

bool Transport::send(NodeId to, std::shared_ptr<const Bytes> message, MessageClass what) {
  const Lock lock(mutex_);
  Link* link = links_.wake(to);
  if (stopping_ || link == nullptr || !link->outbox().push(std::move(message), what, now()))
    return false;
  rouse();
  return true;
}

void Transport::drop_unsent() {
  const Lock lock(mutex_);
  for (const auto& [id, link] : links_.awake()) link->outbox().drop_unsent();
}

void Transport::drop_unsent(NodeId to) {
  const Lock lock(mutex_);
  if (Link* link = links_.wake(to)) link->outbox().drop_unsent();
}

std::optional<Incoming> Transport::receive(Duration at_most) {
  std::optional<Incoming> incoming;
  Lock lock(mutex_);
  // An hour is as good as for ever, and no sum of it overflows.
  news_.wait_for(lock, std::min<Duration>(at_most, std::chrono::hours(1)), [&] {
    incoming = links_.take_next();
    return incoming || woken_ || change_news_;
  });
  if (!incoming) woken_ = change_news_ = false;
  if (incoming && links_.find(incoming->from)->owes_answer()) rouse();
  return incoming;
}

void Transport::wake() {
  {
    const Lock lock(mutex_);
    woken_ = true;
  }
  news_.notify_all();
}

std::vector<PeerState> Transport::take_changes() {
  const Lock lock(mutex_);
  return links_.take_changes();
}

std::vector<PeerState> Transport::peers() const {
  const Lock lock(mutex_);
  return links_.states();
}

std::vector<PeerState> Transport::active_peers() const {
  const Lock lock(mutex_);
  return links_.states_of_awake();
}

bool Transport::has_peer(NodeId id) const {
  const Lock lock(mutex_);
  return links_.find(id) != nullptr;
}

PeerState Transport::peer(NodeId id) const {
  const Lock lock(mutex_);
  const Link* link = links_.find(id);
  CHECK(link != nullptr);
  return link->state();
}

WordCounts Transport::refusals() const {
  const Lock lock(mutex_);
  return links_.refusals();
}

void Transport::count_refusal(std::string_view word) {
  const Lock lock(mutex_);
  links_.refuse(word);
}

void Transport::set_members(std::span<const Member> members) {
  const Lock lock(mutex_);
  const std::vector<NodeId> ended = links_.set_members(members);
  to_hang_up_.insert(to_hang_up_.end(), ended.begin(), ended.end());
  new_.members.emplace(members.begin(), members.end());
  rouse();
}

void Transport::want(std::span<const NodeId> peers) {
  const Lock lock(mutex_);
  links_.want(peers);
  rouse();
}

void Transport::set_observers(std::span<const RosterObserver> observers) {
  const Lock lock(mutex_);
  new_.observers.emplace(observers.begin(), observers.end());
  rouse();
}

void Transport::answer_with(std::function<std::string()> report) {
  questions_.answer_with(std::move(report));
}

void Transport::set_guests(std::span<const std::string> keys) {
  const Lock lock(mutex_);
  new_.guests.emplace(keys.begin(), keys.end());
  rouse();
}

void Transport::answer_knocks_with(Knocks::Reply reply) {
  knocks_.answer_with(std::move(reply));
}

void Transport::close() {
  Duration left{};
  {
    Lock lock(mutex_);
    if (stopping_) return;
    links_.say_goodbye();
    closing_ = true;
    rouse();
    const Instant deadline = now() + options_.linger;
    news_.wait_for(lock, options_.linger, [&] { return links_.drained(); });
    left = std::max(deadline - now(), Duration(std::chrono::milliseconds(100)));
  }
  stop(left);
}

void Transport::stop(Duration linger) {
  {
    const Lock lock(mutex_);
    stopping_ = linger;
    rouse();
  }
  if (thread_.joinable()) thread_.join();
  const Lock lock(mutex_);
  carrier_.reset();
}

// ---- on the transport's own thread

void Transport::on_answer(NodeId from, ByteSpan frame) {
  if (Link* link = links_.wake(from)) link->on_answer(now(), frame);
}

void Transport::on_frame(NodeId from, std::string_view route, ByteSpan frame) {
  if (Link* link = links_.wake(from)) return link->on_frame(now(), route, frame);
  on_refused("not-a-member");
}

void Transport::on_question(std::size_t key, std::string_view route) {
  if (!questions_.take(now(), key, route)) on_refused("asked-too-often");
}

void Transport::on_knock(std::string_view guest, std::string_view route, ByteSpan frame) {
  if (!knocks_.take(now(), guest, route, frame)) on_refused("asked-too-often");
}

void Transport::on_disconnected(NodeId peer, std::string_view why) {
  Link* link = links_.wake(peer);
  if (link == nullptr || !link->connected()) return;
  hang_up(*link, Duration(0));
  link->disconnected(now(), why);
}

void Transport::on_misconduct(NodeId peer, std::string_view word) {
  on_refused(word);
  Link* link = links_.wake(peer);
  if (link == nullptr) return;
  if (link->connected()) hang_up(*link, Duration(0));
  link->shut_out(now(), explain_conduct(word));
}

void Transport::apply_members() {
  for (NodeId id : to_hang_up_) carrier_->hang_up(id, Duration(0));
  to_hang_up_.clear();
  if (new_.members) carrier_->set_members(*new_.members);
  if (new_.observers) carrier_->set_observers(*new_.observers);
  if (new_.guests) carrier_->set_guests(*new_.guests);
  new_ = {};
}

// False where the connection is found to be gone.
bool Transport::say(const Link& link, ByteSpan head, ByteSpan payload) {
  if (!link.rides()) return carrier_->send(link.member().id, head, payload), true;
  Bytes frame(head.begin(), head.end());
  ByteWriter(frame).put_bytes(payload);
  return carrier_->answer(link.route(), frame);
}

// The connection that we ride on is not ours to end.
void Transport::hang_up(const Link& link, Duration linger) {
  if (!link.rides()) carrier_->hang_up(link.member().id, linger);
}

void Transport::send_frames(Link& link, Instant now) {
  while (const std::optional<Frame> frame = link.next_frame(now)) {
    const Bytes head = encode_head(*frame);
    const Chunk* chunk = std::get_if<Chunk>(&*frame);
    const ByteSpan payload = chunk != nullptr ? chunk->payload : ByteSpan{};
    if (!say(link, head, payload)) {
      link.disconnected(now, "its connection is gone, or full");
      break;
    }
    link.sent(head.size() + payload.size());
  }
  while (const std::optional<Answer> answer = link.next_answer()) {
    const Bytes bytes = encode(answer->frame);
    if (answer->route == Link::kOurConnection)
      carrier_->send(link.member().id, bytes, {});
    else
      carrier_->answer(answer->route, bytes);
    link.sent(bytes.size());
  }
}

void Transport::drive(Link& link, Instant now) {
  if (link.wants_hang_up(now)) {
    hang_up(link, Duration(0));
    link.disconnected(now, "no answer");
  }
  if (link.wants_connection(now)) {
    if (!link.rides()) carrier_->connect(link.member().id);
    link.connect(now);
  }
  send_frames(link, now);
  if (links_.tick(link, now)) change_news_ = true;
}

void Transport::rest_unused(Instant now) {
  for (Link* link : links_.unused(now)) {
    const Bytes word = encode(Rest{});
    (void)say(*link, word, {});
    link->sent(word.size());
    hang_up(*link, kRestWithin);
    link->resting(now);
  }
}

void Transport::run() {
  const Duration pause = std::min(options_.heartbeat.interval, options_.retry.pause_min) / 2;
  bool more = false, news = false;
  while (true) {
    carrier_->wait(more ? Duration(0) : pause);
    {
      const Lock lock(mutex_);
      apply_members();
      more = carrier_->collect(*this);
      rest_unused(now());
      for (const auto& [id, link] : links_.awake()) drive(*link, now());
      if (stopping_) {
        for (const auto& [id, link] : links_.awake())
          if (link->connected()) hang_up(*link, link->open() ? *stopping_ : Duration(0));
        return;
      }
      links_.doze();
      news = change_news_ || closing_ || links_.has_next();
    }
    if (news) news_.notify_all();
    for (const Questions::Answer& answer : questions_.answer())
      carrier_->answer(answer.route, answer.bytes);
    for (const Questions::Answer& answer : knocks_.answer())
      carrier_->answer(answer.route, answer.bytes);
  }
}

}  // namespace tessera
