#include "live/link/link.h"

#include <fmt/format.h>

#include "base/random.h"

namespace tessera {
namespace {

constexpr const char* kNotLinked = "not linked: there is nothing to tell it now";
constexpr const char* kBothDialOut = "not linked: it dials out, as we do";

}  // namespace

Link::Link(Member member, const TransportOptions& options, std::uint64_t session,
           WordCounts& refusals, bool self_dials_out)
    : member_(std::move(member)),
      self_dials_out_(self_dials_out),
      options_(options),
      session_(session),
      refusals_(refusals),
      outbox_({.queue = {options.policy, options.queue_bytes_max, options.unsent_age_max},
               .in_flight_bytes_max = options.in_flight_bytes_max,
               .chunk_bytes_max = options.chunk_bytes_max,
               .peer_holds_max = options.held_bytes_max()}),
      window_(options.slack, options.in_flight_bytes_max),
      dialer_(options.retry, options.heartbeat.silence_max,
              Random(session).fork("retry", member_.id)),
      answers_({options.message_bytes_max, options.held_bytes_max()}, options.heartbeat.interval),
      liveness_(options.heartbeat) {}

// ---- our connection

bool Link::needs_connection() const {
  return use_.wanted || !outbox_.empty() || dialer_.cut_off();
}

bool Link::wants_connection(Instant now) const {
  if (!dialer_.may_dial(now) || impossible() || (rides() && !answers_.linked())) return false;
  // Who leaves says goodbye to those who are there, and looks for no others but for whom it has
  // something left.
  if (leaving_.begun) return worth_waiting_for() && !leaving_.goodbye_said;
  // One that has left comes back by itself, unless it has no way to us.
  return needs_connection() && (liveness_.condition() != PeerCondition::kGone || self_dials_out_);
}

void Link::want(bool wanted) {
  // To whom we do not connect nobody does.
  use_.wanted = (wanted || self_dials_out_) && !impossible();
  const PeerCondition condition = liveness_.condition();
  if (use_.wanted && condition == PeerCondition::kIdle)
    liveness_.become(PeerCondition::kConnecting, "not heard from yet");
  else if (condition == PeerCondition::kConnecting && !connected() && !needs_connection())
    liveness_.become(PeerCondition::kIdle, impossible() ? kBothDialOut : kNotLinked);
}

bool Link::may_rest() const {
  return dialer_.may_rest() && !use_.wanted && !leaving_.begun && outbox_.empty();
}

void Link::resting(Instant now) {
  dialer_.rested(now);
  if (!answers_.linked()) liveness_.become(PeerCondition::kIdle, kNotLinked);
}

bool Link::wants_hang_up(Instant now) const {
  return dialer_.wants_hang_up(now, liveness_.deadline());
}

void Link::disconnected(Instant now, std::string_view why) {
  const bool was_open = dialer_.open();
  const Instant tried_since = dialer_.since();
  const PeerCondition condition = liveness_.condition();
  dialer_.broke(now, condition == PeerCondition::kRefused || condition == PeerCondition::kGone);
  if (self_dials_out_) answers_.hung_up();  // They rode on it.
  // No alarm for a connection that lasted, which is tried again, nor for a peer that is heard by
  // another way.
  if (was_open || liveness_.last_heard() > tried_since) return;
  std::string reason = rides() ? fmt::format("it dials out, and does not answer: {}", why)
                               : fmt::format("cannot reach {}: {}", member_.address, why);
  if (condition == PeerCondition::kConnecting && !needs_connection())
    liveness_.become(PeerCondition::kIdle, kNotLinked);
  else if (condition == PeerCondition::kConnecting)
    liveness_.explain(std::move(reason));
  else if (condition == PeerCondition::kAlive || condition == PeerCondition::kSilent ||
           condition == PeerCondition::kIdle)
    liveness_.become(PeerCondition::kLost, std::move(reason));
}

void Link::shut_out(Instant now, std::string_view why) {
  disagrees_ = false;
  liveness_.become(PeerCondition::kRefused, fmt::format("we refuse it: {}", why));
  if (connected()) disconnected(now, why);
}

std::optional<Frame> Link::next_frame(Instant now) {
  if (dialer_.take_hello())
    return Hello{.run = options_.run,
                 .dimension = options_.dimension,
                 .session = session_,
                 .oldest = outbox_.oldest(),
                 .agreement = options_.agreement.text()};
  if (!open() || leaving_.goodbye_said) return std::nullopt;
  if (!last_heartbeat_ || now - *last_heartbeat_ >= options_.heartbeat.interval) {
    last_heartbeat_ = now;
    return Heartbeat{};
  }
  const std::size_t before = outbox_.unconfirmed_bytes();
  if (const std::optional<Chunk> chunk = outbox_.next(window_.bytes())) {
    window_.sent(now, chunk->number, before, outbox_.unconfirmed_bytes());
    use_.at = now;
    return *chunk;
  }
  if (leaving_.begun && outbox_.empty()) {
    leaving_.goodbye_said = true;
    return Goodbye{};
  }
  return std::nullopt;
}

void Link::on_answer(Instant now, ByteSpan bytes) {
  bytes_.in += bytes.size();
  const Result<Frame> frame = decode_frame(bytes);
  if (!frame) return refuse(frame.error().kind);
  if (on_answer_frame(now, *frame)) return;
  if (!self_dials_out_) return refuse("direction");
  on_statement(now, kOurConnection, *frame);
}

bool Link::on_answer_frame(Instant now, const Frame& frame) {
  if (const auto* welcome = std::get_if<Welcome>(&frame)) return on_welcome(now, *welcome), true;
  if (const auto* ack = std::get_if<Ack>(&frame)) return on_ack(now, *ack), true;
  if (const auto* reject = std::get_if<Reject>(&frame)) return on_reject(*reject), true;
  return false;
}

void Link::on_welcome(Instant now, const Welcome& welcome) {
  if (!connected() || dialer_.hello_due() || welcome.session != session_ ||
      !outbox_.resume(welcome.next, welcome.window))
    return refuse("answer");
  if (dialer_.welcomed(now)) {
    last_heartbeat_.reset();
    use_.at = now;
  }
  window_.forget();
  liveness_.become(PeerCondition::kAlive, {});
  liveness_.heard(now);
}

void Link::on_ack(Instant now, const Ack& ack) {
  if (!open() || ack.session != session_ || !outbox_.confirm(ack.received, ack.released))
    return refuse("answer");
  window_.confirmed(now, ack.received, ack.at);
  dialer_.answered(now);
  liveness_.heard(now);
}

void Link::on_reject(const Reject& reject) {
  if (!dialer_.greeting()) return refuse("answer");
  dialer_.hang_up();
  if (reject.reason == RejectReason::kAgreement) return note_difference(reject.agreement);
  const bool twin = reject.reason == RejectReason::kTwin;
  liveness_.become(PeerCondition::kRefused,
                   twin ? "it refuses us: another process has our key, and came later"
                        : fmt::format("it refuses us: another {}", to_string(reject.reason)));
}

// What both sides say of it is the same, whoever noticed first.
void Link::note_difference(std::string_view theirs) {
  disagrees_ = true;
  liveness_.become(PeerCondition::kRefused,
                   fmt::format("we differ in {}", difference(options_.agreement.text(), theirs)));
}

// ---- the peer's connection

void Link::on_frame(Instant now, std::string_view route, ByteSpan bytes) {
  bytes_.in += bytes.size();
  const Result<Frame> frame = decode_frame(bytes);
  if (!frame) return refuse(frame.error().kind);
  // We never connect to it, so it has nothing to answer but what rides on its own connection.
  if (rides() && answers_.counts(route) && on_answer_frame(now, *frame)) return;
  on_statement(now, route, *frame);
}

void Link::on_statement(Instant now, std::string_view route, const Frame& frame) {
  if (const auto* hello = std::get_if<Hello>(&frame)) return on_hello(now, route, *hello);
  const bool rests = std::holds_alternative<Rest>(frame);
  // A last word may come after the hello of the connection that followed.
  if (!answers_.counts(route)) return rests ? void() : refuse("no-hello");
  answers_.heard(now);
  if (const auto* chunk = std::get_if<Chunk>(&frame)) return on_chunk(now, *chunk);
  if (std::holds_alternative<Heartbeat>(frame)) {
    liveness_.heartbeat(now);
    answers_.owe_ack();
  } else if (std::holds_alternative<Goodbye>(frame)) {
    liveness_.said_goodbye(now);
    answers_.owe_ack();
    dialer_.hang_up();
  } else if (rests) {
    answers_.hung_up();
    if (rides()) dialer_.hang_up();
    if (!connected() && !needs_connection()) liveness_.become(PeerCondition::kIdle, kNotLinked);
  } else {
    refuse("direction");
  }
}

// Two processes with one key would take each other's place for ever; the later one stays while it
// is heard.
std::optional<RejectReason> Link::fault_of(Instant now, const Hello& hello) const {
  if (hello.version != kLinkVersion) return RejectReason::kVersion;
  if (hello.run != options_.run) return RejectReason::kRun;
  if (hello.agreement != options_.agreement.text()) return RejectReason::kAgreement;
  if (hello.dimension != options_.dimension) return RejectReason::kDimension;
  if (answers_.was_replaced(hello.session) && now - answers_.heard_at() < liveness_.deadline())
    return RejectReason::kTwin;
  return std::nullopt;
}

void Link::on_hello(Instant now, std::string_view route, const Hello& hello) {
  if (const std::optional<RejectReason> fault = fault_of(now, hello)) {
    refuse(to_string(*fault));
    const bool differs = *fault == RejectReason::kAgreement;
    answers_.reject(route, {*fault, differs ? options_.agreement.text() : std::string()});
    if (differs && !alive())
      note_difference(hello.agreement);
    else if (*fault == RejectReason::kTwin)
      liveness_.warn("two processes have its key, and the one that came later counts");
    else if (!alive())
      liveness_.become(PeerCondition::kRefused,
                       fmt::format("it is of another {}", to_string(*fault)));
    return;
  }
  // A chunk number of zero would make the arithmetic of what is released wrap.
  if (hello.oldest == 0 || hello.session == 0) return refuse("magic");
  disagrees_ = false;
  const bool moved = rides() && !answers_.counts(route);
  const Answers::Greeted greeted = answers_.welcome(route, hello);
  answers_.heard(now);
  for (std::size_t n = greeted.messages_lost; n > 0; --n) refuse("old-session");
  dialer_.peer_is_there(now, greeted.restarted || moved);
  liveness_.said_hello(now);
}

void Link::on_chunk(Instant now, const Chunk& chunk) {
  liveness_.heard(now);
  const std::string_view fault = answers_.add(now, chunk);
  if (!fault.empty()) refuse(fault);
}

// ---- what we know of it

bool Link::worth_waiting_for() const {
  const PeerCondition condition = liveness_.condition();
  return alive() || (connected() && condition == PeerCondition::kConnecting) ||
         (condition == PeerCondition::kIdle && !outbox_.empty());
}

bool Link::asleep() const {
  const PeerCondition condition = liveness_.condition();
  return !connected() && !needs_connection() && condition != PeerCondition::kAlive &&
         condition != PeerCondition::kConnecting && !liveness_.changed() && !answers_.owed() &&
         !has_message();
}

OutgoingState Link::outgoing() const {
  return {.queued = outbox_.queue().size(),
          .queued_bytes = outbox_.queue().bytes(),
          .unconfirmed_bytes = outbox_.unconfirmed_bytes(),
          .window_bytes = window_.bytes(),
          .confirmed_bytes = outbox_.bytes_confirmed(),
          .messages = outbox_.messages_confirmed(),
          .bytes = bytes_.out,
          .messages_begun = outbox_.messages_begun(),
          .bytes_begun = outbox_.bytes_begun(),
          .turned_away = outbox_.queue().turned_away(),
          .superseded = outbox_.queue().superseded()};
}

PeerState Link::state() const {
  return {.id = member_.id,
          .name = member_.name,
          .condition = liveness_.condition(),
          .reason = liveness_.reason(),
          .wanted = use_.wanted,
          .disagrees = disagrees_ && liveness_.condition() == PeerCondition::kRefused,
          .last_heard = liveness_.last_heard(),
          .deadline = liveness_.deadline(),
          .life = answers_.inbox().session(),
          .connections = dialer_.connections(),
          .out = outgoing(),
          .in = {.held_bytes = answers_.inbox().held_bytes(),
                 .messages = answers_.messages(),
                 .bytes = bytes_.in}};
}

}  // namespace tessera
