// All one node knows of one peer, and the rules both keep: a state machine without sockets or
// clock. The transport (transport.h) holds two connections to the peer and asks the link what to do
// with them: ours, on which we speak and it answers (Dialer), and the peer's, on which it speaks
// and we answer (Answers). Where one of the two cannot be connected to (member.h), there is one
// connection, which it made: what the other has to say rides on that, and is answered there.
//
// Refusals: those of frame.h and Inbox::add, and
//   "version" "run" "dimension"  a hello of another protocol, run or model
//   "agreement"                  a hello of one who learns something else (agreement.h)
//   "no-hello"                   a frame on a connection that did not say hello, or lost its place
//                                to a newer one
//   "direction"                  an answer where a statement was due, or the reverse
//   "answer"                     an answer that makes no sense: to another session, of chunks we
//                                did not send
//   "old-session"                messages of a peer's former life that were not taken
//   "twin"                       a hello of a process whose successor, with the same key, is here
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/word_counts.h"
#include "live/link/answers.h"
#include "live/link/dialer.h"
#include "live/link/frame.h"
#include "live/link/liveness.h"
#include "live/link/member.h"
#include "live/link/options.h"
#include "live/link/outbox.h"
#include "live/link/peer_state.h"
#include "live/link/window.h"

namespace tessera {

class Link {
 public:
  // `self_dials_out`: nobody can connect to us.
  Link(Member member, const TransportOptions& options, std::uint64_t session, WordCounts& refusals,
       bool self_dials_out = false);

  const Member& member() const { return member_; }
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }

  // Our connection. The transport makes one when wants_connection(), drops it when wants_hang_up()
  // and reports when it broke; between those it sends next_frame() while there is one and hands
  // over what is answered.
  bool wants_connection(Instant now) const;
  void connect(Instant now) { dialer_.dial(now); }
  bool wants_hang_up(Instant now) const;
  void disconnected(Instant now, std::string_view why);
  // It broke the rules beneath frames, and was hung up on. It may come back.
  void shut_out(Instant now, std::string_view why);
  bool connected() const { return dialer_.connected(); }
  bool open() const { return dialer_.open(); }
  // What we say goes as answers to route(), the peer's own connection: it cannot be connected to.
  bool rides() const { return member_.dials_out(); }
  const std::string& route() const { return answers_.route(); }
  // Neither can connect to the other.
  bool impossible() const { return self_dials_out_ && member_.dials_out(); }
  // Where answers are due to what the peer said on our connection.
  static constexpr const char* kOurConnection = "ours";
  std::optional<Frame> next_frame(Instant now);
  // Whether the connection is kept, used or not. One that is not may be hung up while may_rest(),
  // with a Rest as the last word and resting() after it; nothing is lost by that.
  void want(bool wanted);
  bool may_rest() const;
  Instant used_at() const { return use_.at; }
  void resting(Instant now);
  void sent(std::size_t bytes) { bytes_.out += bytes; }  // For the counters, answers too.
  void on_answer(Instant now, ByteSpan bytes);

  // The peer's connection, which the transport tells from others of the same peer by `route`.
  void on_frame(Instant now, std::string_view route, ByteSpan bytes);
  std::optional<Answer> next_answer() { return answers_.next(); }
  bool owes_answer() const { return answers_.owed(); }
  bool has_message() const { return !answers_.inbox().empty(); }
  std::optional<Bytes> take() { return answers_.take(); }

  bool alive() const { return liveness_.alive(); }
  void tick(Instant now) { liveness_.tick(now); }
  bool take_change() { return liveness_.take_change(); }

  // A last word follows what is queued; drained() when all of it is confirmed and the word said.
  void say_goodbye() { leaving_.begun = true; }
  bool drained() const { return outbox_.empty() && leaving_.goodbye_said; }
  // It is there, or may be about to answer for the first time.
  bool worth_waiting_for() const;

  // Nothing comes of it by itself: no connection, nothing to tell, nobody to miss. Until something
  // happens to it nobody needs to look.
  bool asleep() const;

  PeerState state() const;

 private:
  void refuse(std::string_view word) { ++refusals_[std::string(word)]; }
  void on_statement(Instant now, std::string_view route, const Frame& frame);
  bool on_answer_frame(Instant now, const Frame& frame);
  void on_hello(Instant now, std::string_view route, const Hello& hello);
  std::optional<RejectReason> fault_of(Instant now, const Hello& hello) const;
  void on_chunk(Instant now, const Chunk& chunk);
  void on_welcome(Instant now, const Welcome& welcome);
  void on_reject(const Reject& reject);
  void note_difference(std::string_view theirs);
  void on_ack(Instant now, const Ack& ack);
  OutgoingState outgoing() const;
  bool needs_connection() const;

  Member member_;
  const bool self_dials_out_;
  const TransportOptions& options_;
  std::uint64_t session_;
  WordCounts& refusals_;
  Outbox outbox_;
  Window window_;
  Dialer dialer_;
  Answers answers_;
  Liveness liveness_;
  std::optional<Instant> last_heartbeat_;  // Of ours.
  bool disagrees_ = false;                 // As its last hello or our last one's answer says.
  struct {
    bool wanted = true;
    Instant at{};  // When our connection was made, or a chunk last sent on it.
  } use_;
  struct {
    bool begun = false, goodbye_said = false;
  } leaving_;
  struct {
    std::uint64_t in = 0, out = 0;
  } bytes_;
};

}  // namespace tessera
