#include "live/link/link_transport.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "live/link/clock.h"
#include "live/link/link.h"

namespace tessera {
namespace {

class LinkTransport final : public Transport, CarrierEvents {
 public:
  LinkTransport(NodeId self, std::span<const Member> members, const TransportOptions& options,
                std::unique_ptr<Carrier> carrier);
  ~LinkTransport() override { stop(Duration(0)); }

  Instant now() const override { return clock_.now(); }
  bool send(NodeId to, std::shared_ptr<const Bytes> message, MessageClass what) override;
  bool has_room(NodeId to) const override;
  void drop_unsent() override;
  void drop_unsent(NodeId to) override;
  std::optional<Incoming> receive(Duration at_most) override;
  void wake() override;
  std::vector<PeerState> take_changes() override;
  std::vector<PeerState> peers() const override;
  PeerState peer(NodeId id) const override;
  Refusals refusals() const override;
  void set_members(std::span<const Member> members) override;
  void close() override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  void on_answer(NodeId from, ByteSpan frame) override;
  void on_frame(NodeId from, std::string_view route, ByteSpan frame) override;
  void on_disconnected(NodeId peer, std::string_view why) override;
  void on_refused(std::string_view word) override { ++refusals_[std::string(word)]; }

  void run();
  void apply_members();
  void drive(Link& link, Instant now);
  std::optional<Incoming> take_next();
  bool drained() const;
  void stop(Duration linger);
  void rouse() {
    if (carrier_ != nullptr) carrier_->wake();
  }
  Link* find(NodeId id) const;

  const NodeId self_;
  const TransportOptions options_;
  const SteadyClock clock_;
  const std::uint64_t session_;

  // Everything below is guarded, the carrier by being used on one thread only.
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::map<NodeId, std::unique_ptr<Link>> links_;
  std::vector<Member> members_;
  bool members_changed_ = true;
  std::vector<NodeId> to_hang_up_;
  Refusals refusals_;
  std::set<NodeId> changed_;
  bool change_news_ = false, woken_ = false;
  NodeId last_served_ = 0;
  bool stopping_ = false;
  Duration linger_{};

  std::unique_ptr<Carrier> carrier_;
  std::thread thread_;
};

// Differs each time a process starts, which is all that is asked of it.
std::uint64_t new_session() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(since).count()) | 1;
}

void refuse_impossible(const TransportOptions& options) {
  if (options.chunk_bytes < 1024 || options.chunk_bytes > kChunkBytesMax)
    throw std::invalid_argument(
        fmt::format("chunk_bytes = {}: between 1 KiB and 1 MiB will do", options.chunk_bytes));
  if (options.heartbeat_interval <= Duration(0) || options.silence_floor <= Duration(0) ||
      options.silence_ceiling < options.silence_floor)
    throw std::invalid_argument(
        "heartbeats need an interval above zero, and silence a floor above zero and no higher than "
        "its ceiling");
  if (options.retry_first <= Duration(0))
    throw std::invalid_argument("retry_first: a pause above zero is needed");
}

LinkTransport::LinkTransport(NodeId self, std::span<const Member> members,
                             const TransportOptions& options, std::unique_ptr<Carrier> carrier)
    : self_(self), options_(options), session_(new_session()), carrier_(std::move(carrier)) {
  refuse_impossible(options_);
  set_members(members);
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Link* LinkTransport::find(NodeId id) const {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second.get();
}

// ---- for the node

bool LinkTransport::send(NodeId to, std::shared_ptr<const Bytes> message, MessageClass what) {
  const Lock lock(mutex_);
  Link* link = find(to);
  if (stopping_ || link == nullptr || !link->outbox().push(std::move(message), what)) return false;
  rouse();
  return true;
}

bool LinkTransport::has_room(NodeId to) const {
  const Lock lock(mutex_);
  const Link* link = find(to);
  return link != nullptr && link->outbox().has_room();
}

void LinkTransport::drop_unsent() {
  const Lock lock(mutex_);
  for (auto& [id, link] : links_) link->outbox().drop_unsent();
}

void LinkTransport::drop_unsent(NodeId to) {
  const Lock lock(mutex_);
  if (Link* link = find(to)) link->outbox().drop_unsent();
}

// Peers take turns, so that one that floods does not keep the others waiting.
std::optional<Incoming> LinkTransport::take_next() {
  auto at = links_.upper_bound(last_served_);
  for (std::size_t i = 0; i < links_.size(); ++i, ++at) {
    if (at == links_.end()) at = links_.begin();
    if (std::optional<Bytes> message = at->second->take()) {
      last_served_ = at->first;
      return Incoming{at->first, std::move(*message)};
    }
  }
  return std::nullopt;
}

std::optional<Incoming> LinkTransport::receive(Duration at_most) {
  std::optional<Incoming> incoming;
  Lock lock(mutex_);
  // An hour is as good as for ever, and no sum of it overflows.
  news_.wait_for(lock, std::min<Duration>(at_most, std::chrono::hours(1)), [&] {
    incoming = take_next();
    return incoming || woken_ || change_news_;
  });
  if (!incoming) woken_ = change_news_ = false;
  if (incoming && find(incoming->from)->owes_answer()) rouse();
  return incoming;
}

void LinkTransport::wake() {
  {
    const Lock lock(mutex_);
    woken_ = true;
  }
  news_.notify_all();
}

std::vector<PeerState> LinkTransport::take_changes() {
  const Lock lock(mutex_);
  std::vector<PeerState> states;
  for (NodeId id : changed_)
    if (const Link* link = find(id)) states.push_back(link->state());
  changed_.clear();
  return states;
}

std::vector<PeerState> LinkTransport::peers() const {
  const Lock lock(mutex_);
  std::vector<PeerState> states;
  for (const auto& [id, link] : links_) states.push_back(link->state());
  return states;
}

PeerState LinkTransport::peer(NodeId id) const {
  const Lock lock(mutex_);
  const Link* link = find(id);
  CHECK(link != nullptr);
  return link->state();
}

Refusals LinkTransport::refusals() const {
  const Lock lock(mutex_);
  return refusals_;
}

void LinkTransport::set_members(std::span<const Member> members) {
  const Lock lock(mutex_);
  std::map<NodeId, const Member*> wanted;
  for (const Member& member : members)
    if (member.id != self_) wanted[member.id] = &member;
  for (auto it = links_.begin(); it != links_.end();) {
    const auto found = wanted.find(it->first);
    // Another key or address under the same id is another link.
    if (found != wanted.end() && *found->second == it->second->member()) {
      ++it;
      continue;
    }
    if (it->second->connected()) to_hang_up_.push_back(it->first);
    it = links_.erase(it);
  }
  for (const auto& [id, member] : wanted)
    if (!links_.contains(id))
      links_[id] = std::make_unique<Link>(*member, options_, session_, refusals_);
  members_.assign(members.begin(), members.end());
  members_changed_ = true;
  rouse();
}

bool LinkTransport::drained() const {
  for (const auto& [id, link] : links_)
    if (link->worth_waiting_for() && !link->drained()) return false;
  return true;
}

void LinkTransport::close() {
  Duration left{};
  {
    Lock lock(mutex_);
    if (stopping_) return;
    for (auto& [id, link] : links_) link->say_goodbye();
    rouse();
    const Instant deadline = now() + options_.linger;
    news_.wait_for(lock, options_.linger, [&] { return drained(); });
    left = std::max(deadline - now(), Duration(std::chrono::milliseconds(100)));
  }
  stop(left);
}

void LinkTransport::stop(Duration linger) {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    linger_ = linger;
    rouse();
  }
  if (thread_.joinable()) thread_.join();
  const Lock lock(mutex_);
  carrier_.reset();
}

// ---- on the transport's own thread

void LinkTransport::on_answer(NodeId from, ByteSpan frame) {
  if (Link* link = find(from)) link->on_answer(now(), frame);
}

void LinkTransport::on_frame(NodeId from, std::string_view route, ByteSpan frame) {
  if (Link* link = find(from)) return link->on_frame(now(), route, frame);
  on_refused("not-a-member");
}

void LinkTransport::on_disconnected(NodeId peer, std::string_view why) {
  Link* link = find(peer);
  if (link == nullptr || !link->connected()) return;
  carrier_->hang_up(peer, Duration(0));
  link->disconnected(now(), why);
}

void LinkTransport::apply_members() {
  for (NodeId id : to_hang_up_) carrier_->hang_up(id, Duration(0));
  to_hang_up_.clear();
  if (members_changed_) carrier_->set_members(members_);
  members_changed_ = false;
}

void LinkTransport::drive(Link& link, Instant now) {
  const NodeId id = link.member().id;
  if (link.wants_hang_up(now)) {
    carrier_->hang_up(id, Duration(0));
    link.disconnected(now, "no answer");
  }
  if (link.wants_connection(now)) {
    carrier_->connect(id);
    link.connect(now);
  }
  while (const std::optional<Frame> frame = link.next_frame(now)) {
    const Bytes head = encode_head(*frame);
    const Chunk* chunk = std::get_if<Chunk>(&*frame);
    const ByteSpan payload = chunk != nullptr ? chunk->payload : ByteSpan{};
    carrier_->send(id, head, payload);
    link.sent(head.size() + payload.size());
  }
  while (const std::optional<Link::Answer> answer = link.next_answer()) {
    const Bytes bytes = encode(answer->frame);
    carrier_->answer(answer->route, bytes);
    link.sent(bytes.size());
  }
  link.tick(now);
  if (link.take_change()) {
    changed_.insert(id);
    change_news_ = true;
  }
}

void LinkTransport::run() {
  const Duration pause = std::min(options_.heartbeat_interval, options_.retry_first) / 2;
  bool more = false;
  while (true) {
    carrier_->wait(more ? Duration(0) : pause);
    {
      const Lock lock(mutex_);
      apply_members();
      more = carrier_->collect(*this);
      for (auto& [id, link] : links_) drive(*link, now());
      if (stopping_) {
        for (auto& [id, link] : links_)
          if (link->connected()) carrier_->hang_up(id, link->open() ? linger_ : Duration(0));
        return;
      }
    }
    news_.notify_all();
  }
}

}  // namespace

std::unique_ptr<Transport> make_link_transport(NodeId self, std::span<const Member> members,
                                               const TransportOptions& options,
                                               std::unique_ptr<Carrier> carrier) {
  return std::make_unique<LinkTransport>(self, members, options, std::move(carrier));
}

}  // namespace tessera
