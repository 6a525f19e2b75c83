// All one node knows of one peer, and the rules both keep: a state machine without sockets or
// clock. A carrier (zeromq.cc, loopback.cc) holds two connections to the peer and asks the link
// what to do with them: ours, on which we speak and it answers, and the peer's, on which it speaks
// and we answer.
//
//   ours:    absent --connect()--> greeting --welcome--> open
//               ^---------- disconnected(), after a pause -----'
//
// Refusals: those of frame.h and Inbox::add, and
//   "version" "run" "dimension"  a hello of another protocol, experiment or model
//   "no-hello"                   a frame on a connection that did not say hello, or lost its place
//                                to a newer one
//   "direction"                  an answer where a statement was due, or the reverse
//   "answer"                     an answer that makes no sense: to another session, of chunks we
//                                did not send
//   "old-session"                messages of a peer's former life that nobody had taken
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "live/link/arrivals.h"
#include "live/link/frame.h"
#include "live/link/inbox.h"
#include "live/link/outbox.h"
#include "live/link/transport.h"
#include "live/link/window.h"

namespace tessera {

class Link {
 public:
  Link(Member member, const TransportOptions& options, std::uint64_t session, Refusals& refusals);

  const Member& member() const { return member_; }
  Outbox& outbox() { return outbox_; }
  const Outbox& outbox() const { return outbox_; }

  // Our connection. The carrier makes one when wants_connection(), drops it when wants_hang_up()
  // and reports when it broke; between those it sends next_frame() while there is one and hands
  // over what is answered.
  bool wants_connection(Instant now) const;
  void connect(Instant now);
  bool wants_hang_up(Instant now) const;
  void disconnected(Instant now, std::string_view why);
  bool connected() const { return phase_ != Phase::absent; }
  bool open() const { return phase_ == Phase::open; }
  bool alive() const { return condition_ == PeerCondition::alive; }
  std::optional<Frame> next_frame(Instant now);
  void sent(std::size_t bytes) { bytes_out_ += bytes; }  // For the counters, answers too.
  void on_answer(Instant now, ByteSpan bytes);

  // The peer's connection, which the carrier tells from others of the same peer by `route`.
  void on_frame(Instant now, std::string_view route, ByteSpan bytes);
  struct Answer {
    std::string route{};
    Frame frame{};
  };
  std::optional<Answer> next_answer();
  bool owes_answer() const { return answer_.has_value() || ack_due_; }

  std::optional<Bytes> take();
  bool has_message() const { return !inbox_.empty(); }

  // Notices silence. Whether the condition changed since the last call of take_change().
  void tick(Instant now);
  bool take_change();

  // A last word follows what is queued; drained() when all of it is confirmed and the word said.
  void say_goodbye() { leaving_ = true; }
  bool drained() const { return outbox_.empty() && goodbye_said_; }
  // It is there, or may be about to answer for the first time.
  bool worth_waiting_for() const {
    return alive() || (connected() && condition_ == PeerCondition::connecting);
  }

  PeerState state() const;

 private:
  enum class Phase { absent, greeting, open };
  void refuse(std::string_view word) { ++refusals_[std::string(word)]; }
  void heard(Instant now);
  void become(PeerCondition condition, std::string reason);
  void on_hello(Instant now, std::string_view route, const Hello& hello);
  std::optional<RejectReason> fault_of(const Hello& hello) const;
  void on_chunk(Instant now, const Chunk& chunk);
  void on_welcome(Instant now, const Welcome& welcome);
  void on_reject(const Reject& reject);
  Welcome welcome() const;
  Duration pause() const;
  void on_ack(Instant now, const Ack& ack);

  Member member_;
  const TransportOptions& options_;
  std::uint64_t session_;
  Refusals& refusals_;
  Outbox outbox_;
  Window window_;
  Inbox inbox_;
  Arrivals arrivals_;

  Phase phase_ = Phase::absent;
  bool hello_due_ = false;
  Instant phase_since_{};
  Instant next_attempt_{};
  std::uint32_t failures_ = 0;  // Attempts in a row without a welcome.
  bool hang_up_ = false;
  Instant last_answer_{};
  std::optional<Instant> last_heartbeat_;
  bool leaving_ = false, goodbye_said_ = false;

  std::string route_;
  std::optional<Answer> answer_;  // A welcome or rejection that is due.
  bool ack_due_ = false;
  std::size_t taken_bytes_ = 0;  // Since the last ack.
  Instant chunk_at_{};           // When the last chunk came.
  Instant last_resync_{};

  PeerCondition condition_ = PeerCondition::connecting;
  std::string reason_ = "not heard from yet";
  bool changed_ = false;
  Instant last_heard_{};
  std::uint64_t messages_in_ = 0, bytes_in_ = 0, bytes_out_ = 0, connections_ = 0;
};

}  // namespace tessera
