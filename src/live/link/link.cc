#include "live/link/link.h"

#include <algorithm>

#include "base/random.h"
#include "base/text.h"

namespace tessera {

Link::Link(Member member, const TransportOptions& options, std::uint64_t session,
           Refusals& refusals)
    : member_(std::move(member)),
      options_(options),
      session_(session),
      refusals_(refusals),
      outbox_({options.policy, options.queue_bytes, options.in_flight_bytes, options.chunk_bytes}),
      window_(options.slack, options.in_flight_bytes),
      inbox_({options.message_bytes_max, options.message_bytes_max + options.held_bytes_extra}),
      arrivals_({options.heartbeat_interval, options.deviations, options.silence_floor,
                 options.silence_ceiling}) {}

// ---- our connection

bool Link::wants_connection(Instant now) const {
  if (phase_ != Phase::absent || now < next_attempt_) return false;
  // Who leaves says goodbye to those who are there, and looks for nobody else.
  return leaving_ ? alive() && !goodbye_said_ : condition_ != PeerCondition::gone;
}

void Link::connect(Instant now) {
  CHECK(!connected());
  phase_ = Phase::greeting;
  phase_since_ = now;
  hello_due_ = true;
  hang_up_ = false;
}

bool Link::wants_hang_up(Instant now) const {
  if (phase_ == Phase::absent) return false;
  if (hang_up_) return true;
  // A peer that stands still accepts connections and answers none; a cable that was pulled reports
  // nothing at all. Both are found by waiting.
  if (phase_ == Phase::greeting) return now - phase_since_ > options_.silence_ceiling;
  return now - last_answer_ > 2 * arrivals_.deadline();
}

// How long to wait before the next attempt: doubling, and a quarter more or less, so that a
// thousand nodes that lost the same peer do not all come back in the same instant.
Duration Link::pause() const {
  Duration pause = options_.retry_first;
  for (std::uint32_t i = 1; i < failures_ && pause < options_.retry_ceiling; ++i) pause *= 2;
  Random random = Random(session_).fork("retry", member_.id).fork("failures", failures_);
  const double jitter = 0.75 + random.uniform() / 2;
  const double nanoseconds =
      static_cast<double>(std::min(pause, options_.retry_ceiling).count()) * jitter;
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

void Link::disconnected(Instant now, std::string_view why) {
  const bool was_open = phase_ == Phase::open;
  const bool was_brief = now - phase_since_ < options_.retry_first;
  phase_ = Phase::absent;
  hang_up_ = false;
  if (was_open && !was_brief) {  // The first attempt is made at once, and without alarm.
    next_attempt_ = now;
    return;
  }
  ++failures_;
  next_attempt_ = now + pause();
  if (condition_ == PeerCondition::refused) next_attempt_ = now + options_.retry_ceiling;
  if (was_open || last_heard_ > phase_since_) return;  // It is there, by another way.
  const std::string reason = fmt::format("cannot reach {}: {}", member_.address, why);
  if (condition_ == PeerCondition::connecting) reason_ = reason;
  if (condition_ == PeerCondition::alive || condition_ == PeerCondition::silent)
    become(PeerCondition::lost, reason);
}

std::optional<Frame> Link::next_frame(Instant now) {
  if (phase_ == Phase::greeting && hello_due_) {
    hello_due_ = false;
    return Hello{.run = options_.run,
                 .dimension = options_.dimension,
                 .session = session_,
                 .oldest = outbox_.oldest()};
  }
  if (phase_ != Phase::open || goodbye_said_) return std::nullopt;
  if (!last_heartbeat_ || now - *last_heartbeat_ >= options_.heartbeat_interval) {
    last_heartbeat_ = now;
    return Heartbeat{};
  }
  const std::size_t before = outbox_.unconfirmed_bytes();
  if (const std::optional<Chunk> chunk = outbox_.next(window_.bytes())) {
    window_.sent(now, chunk->number, before, outbox_.unconfirmed_bytes());
    return *chunk;
  }
  if (leaving_ && outbox_.empty()) {
    goodbye_said_ = true;
    return Goodbye{};
  }
  return std::nullopt;
}

void Link::on_answer(Instant now, ByteSpan bytes) {
  bytes_in_ += bytes.size();
  const Result<Frame> frame = decode_frame(bytes);
  if (!frame) return refuse(frame.error().kind);
  if (const auto* welcome = std::get_if<Welcome>(&*frame)) return on_welcome(now, *welcome);
  if (const auto* ack = std::get_if<Ack>(&*frame)) return on_ack(now, *ack);
  if (const auto* reject = std::get_if<Reject>(&*frame)) return on_reject(*reject);
  refuse("direction");
}

void Link::on_welcome(Instant now, const Welcome& welcome) {
  if (phase_ == Phase::absent || hello_due_ || welcome.session != session_ ||
      !outbox_.resume(welcome.next, welcome.window))
    return refuse("answer");
  if (phase_ == Phase::greeting) {
    phase_ = Phase::open;
    phase_since_ = now;
    failures_ = 0;
    ++connections_;
    last_heartbeat_.reset();
  }
  window_.forget();
  last_answer_ = now;
  become(PeerCondition::alive, {});
  heard(now);
}

void Link::on_ack(Instant now, const Ack& ack) {
  if (phase_ != Phase::open || ack.session != session_ ||
      !outbox_.confirm(ack.received, ack.released))
    return refuse("answer");
  window_.confirmed(now, ack.received, ack.at);
  last_answer_ = now;
  heard(now);
}

void Link::on_reject(const Reject& reject) {
  if (phase_ != Phase::greeting) return refuse("answer");
  hang_up_ = true;
  become(PeerCondition::refused,
         fmt::format("it refuses us: another {}", to_string(reject.reason)));
}

// ---- the peer's connection

void Link::on_frame(Instant now, std::string_view route, ByteSpan bytes) {
  bytes_in_ += bytes.size();
  const Result<Frame> frame = decode_frame(bytes);
  if (!frame) return refuse(frame.error().kind);
  if (const auto* hello = std::get_if<Hello>(&*frame)) return on_hello(now, route, *hello);
  if (route != route_) return refuse("no-hello");
  if (const auto* chunk = std::get_if<Chunk>(&*frame)) return on_chunk(now, *chunk);
  if (std::holds_alternative<Heartbeat>(*frame)) {
    heard(now);
    arrivals_.heartbeat(now);
    ack_due_ = true;
  } else if (std::holds_alternative<Goodbye>(*frame)) {
    last_heard_ = now;
    ack_due_ = true;
    hang_up_ = true;
    become(PeerCondition::gone, "said goodbye");
  } else {
    refuse("direction");
  }
}

std::optional<RejectReason> Link::fault_of(const Hello& hello) const {
  if (hello.version != kLinkVersion) return RejectReason::version;
  if (hello.run != options_.run) return RejectReason::run;
  if (hello.dimension != options_.dimension) return RejectReason::dimension;
  return std::nullopt;
}

Welcome Link::welcome() const {
  return {.session = inbox_.session(),
          .next = inbox_.expected(),
          .window = options_.message_bytes_max + options_.held_bytes_extra};
}

void Link::on_hello(Instant now, std::string_view route, const Hello& hello) {
  if (const std::optional<RejectReason> fault = fault_of(hello)) {
    refuse(to_string(*fault));
    answer_ = Answer{std::string(route), Reject{*fault}};
    if (condition_ != PeerCondition::alive)
      become(PeerCondition::refused, fmt::format("it is of another {}", to_string(*fault)));
    return;
  }
  // A chunk number of zero would make the arithmetic of what is released wrap.
  if (hello.oldest == 0 || hello.session == 0) return refuse("magic");
  const bool restarted = inbox_.session() != 0 && inbox_.session() != hello.session;
  for (std::size_t n = inbox_.greet(hello.session, hello.oldest); n > 0; --n) refuse("old-session");
  route_ = route;
  answer_ = Answer{route_, welcome()};
  arrivals_.forget_last();
  // It is there now: do not sit out a pause, nor trust a connection to its former life.
  hang_up_ = restarted && connected();
  failures_ = 0;
  next_attempt_ = now;
  become(PeerCondition::alive, {});
  heard(now);
}

void Link::on_chunk(Instant now, const Chunk& chunk) {
  heard(now);
  const std::size_t waiting = inbox_.waiting();
  const std::uint64_t received = inbox_.received();
  const std::string_view fault = inbox_.add(chunk);
  messages_in_ += inbox_.waiting() - waiting;
  if (inbox_.received() != received) chunk_at_ = now;
  ack_due_ = true;
  if (fault.empty()) return;
  refuse(fault);
  // Should we ever lose a chunk on a whole connection, tell the peer where we stand; once in a
  // while, since the chunks already on their way are refused as well.
  if (fault == "gap" && now - last_resync_ >= options_.heartbeat_interval) {
    last_resync_ = now;
    answer_ = Answer{route_, welcome()};
  }
}

std::optional<Link::Answer> Link::next_answer() {
  if (answer_) return std::exchange(answer_, std::nullopt);
  if (!ack_due_ || route_.empty()) return std::nullopt;
  ack_due_ = false;
  taken_bytes_ = 0;
  const auto at = static_cast<std::uint64_t>(chunk_at_.time_since_epoch().count());
  return Answer{route_, Ack{inbox_.session(), inbox_.received(), inbox_.released(), at}};
}

std::optional<Bytes> Link::take() {
  std::optional<Bytes> message = inbox_.take();
  if (!message) return message;
  taken_bytes_ += message->size() + kChunkCharge;
  // Heartbeats tell the peer what we took; a window that moves faster than they do is told of.
  if (taken_bytes_ >= welcome().window / 8) ack_due_ = true;
  return message;
}

// ---- what we know of it

void Link::heard(Instant now) {
  last_heard_ = now;
  if (condition_ != PeerCondition::gone && condition_ != PeerCondition::refused)
    become(PeerCondition::alive, {});
}

void Link::become(PeerCondition condition, std::string reason) {
  changed_ = changed_ || condition != condition_;
  condition_ = condition;
  reason_ = std::move(reason);
}

void Link::tick(Instant now) {
  const Duration silence = now - last_heard_;
  if (condition_ == PeerCondition::alive && silence > arrivals_.deadline())
    become(PeerCondition::silent,
           fmt::format("nothing heard for {}, longer than its {}", show_duration(silence),
                       show_duration(arrivals_.deadline())));
}

bool Link::take_change() {
  return std::exchange(changed_, false);
}

PeerState Link::state() const {
  PeerState state;
  state.id = member_.id;
  state.name = member_.name;
  state.condition = condition_;
  state.reason = reason_;
  state.last_heard = last_heard_;
  state.deadline = arrivals_.deadline();
  state.queued = outbox_.queued();
  state.queued_bytes = outbox_.queued_bytes();
  state.unconfirmed_bytes = outbox_.unconfirmed_bytes();
  state.window_bytes = window_.bytes();
  state.confirmed_bytes = outbox_.bytes_confirmed();
  state.held_bytes = inbox_.held_bytes();
  state.messages_out = outbox_.messages_confirmed();
  state.messages_in = messages_in_;
  state.bytes_out = bytes_out_;
  state.bytes_in = bytes_in_;
  state.turned_away = outbox_.turned_away();
  state.superseded = outbox_.superseded();
  state.messages_begun = outbox_.messages_begun();
  state.bytes_begun = outbox_.bytes_begun();
  state.connections = connections_;
  return state;
}

}  // namespace tessera
