// One node's end of all its links: whole messages out, whole messages in, and what is known of each
// peer. send() never blocks, receive() waits no longer than told, and every buffer is bounded in
// bytes per peer (docs/live_buffers.md). Frames travel by a Carrier: ZeroMQ with CURVE (zeromq.h)
// between machines, memory (loopback.h) in tests. A thread of its own keeps the links going while
// the node trains.
//
// What a link promises. Messages between two running processes arrive once, whole and in order,
// also across a broken connection: what the peer has not confirmed is sent again when it is back.
// Messages are lost only when a process ends, when a queue is full (the policy says which one
// goes), or when a peer breaks the rules; every loss is counted by name.
//
// Who a peer is comes from its key in the roster and never from what a message says.
//
// Threads: all functions may be called from any thread, receive() from one at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/word_counts.h"
#include "live/link/carrier.h"
#include "live/link/clock.h"
#include "live/link/knocks.h"
#include "live/link/links.h"
#include "live/link/questions.h"

namespace tessera {

class Transport final : CarrierEvents {
 public:
  // Throws std::invalid_argument for options that cannot be.
  Transport(NodeId self, std::span<const Member> members, const TransportOptions& options,
            std::unique_ptr<Carrier> carrier);
  // Closes without waiting and without a word, as a crash would.
  ~Transport() override { stop(Duration(0)); }

  // Time since this transport was made, from a steady clock.
  Instant now() const { return clock_.now(); }

  // Queues the message for `to`, which is a member and not ourselves. False when the policy turned
  // it away. A peer that is not there keeps its queue until it comes back.
  bool send(NodeId to, std::shared_ptr<const Bytes> message,
            MessageClass what = MessageClass::kOrdinary);
  // Forgets every ordinary message of which no byte is on the wire yet.
  void drop_unsent();
  void drop_unsent(NodeId to);

  // The next whole message. Returns without one after `at_most`, or earlier when wake() was called
  // or some peer's condition changed (see take_changes).
  std::optional<Incoming> receive(Duration at_most);
  // Makes the current or else the next receive() return at once.
  void wake();

  // Peers whose condition changed since the last call.
  std::vector<PeerState> take_changes();
  std::vector<PeerState> peers() const;  // By id.
  // Those that are linked to, or are to be: as many as there are neighbours, however large the
  // fleet.
  std::vector<PeerState> active_peers() const;
  bool has_peer(NodeId id) const;
  PeerState peer(NodeId id) const;
  WordCounts refusals() const;
  void count_refusal(std::string_view word);  // Of what came another way than by a link.

  // The roster has changed: links to new members are made, those to former ones closed.
  void set_members(std::span<const Member> members);

  // Links to these peers are kept, those to others made when there is something to send and hung up
  // politely when they have not been used for a while. Whoever links to us is let in anyway.
  void want(std::span<const NodeId> peers);

  // Who may ask how we are besides members.
  void set_observers(std::span<const RosterObserver> observers);
  // What they are answered. It is called on the transport's thread and may ask the transport; an
  // empty one answers nobody, and has no predecessor still at work when this returns.
  void answer_with(std::function<std::string()> report);

  // The public keys of invitations: who has one may knock. Knocks are answered by `reply`, as
  // questions are.
  void set_guests(std::span<const std::string> keys);
  void answer_knocks_with(Knocks::Reply reply);

  // Tells every peer that this is the end, waits at most options.linger for queues to empty, and
  // closes.
  void close();

 private:
  using Lock = std::unique_lock<std::mutex>;

  void on_answer(NodeId from, ByteSpan frame) override;
  void on_frame(NodeId from, std::string_view route, ByteSpan frame) override;
  void on_question(std::size_t key, std::string_view route) override;
  void on_knock(std::string_view guest, std::string_view route, ByteSpan frame) override;
  void on_disconnected(NodeId peer, std::string_view why) override;
  void on_misconduct(NodeId peer, std::string_view word) override;
  void on_refused(std::string_view word) override { links_.refuse(word); }

  void run();
  void apply_members();
  void drive(Link& link, Instant now);
  void rest_unused(Instant now);
  void send_frames(Link& link, Instant now);
  bool say(const Link& link, ByteSpan head, ByteSpan payload);
  void hang_up(const Link& link, Duration linger);
  void stop(Duration linger);
  void rouse();

  const TransportOptions options_;
  const SteadyClock clock_;

  // Everything below is guarded, the carrier by being used on one thread only.
  mutable std::mutex mutex_;
  std::condition_variable news_;
  Links links_;
  struct {  // Of which the carrier has not been told.
    std::optional<std::vector<Member>> members{};
    std::optional<std::vector<RosterObserver>> observers{};
    std::optional<std::vector<std::string>> guests{};
  } new_;
  std::vector<NodeId> to_hang_up_;
  bool change_news_ = false;
  bool woken_ = false;
  bool closing_ = false;
  std::optional<Duration> stopping_;  // How long what was sent may still take to leave.

  std::unique_ptr<Carrier> carrier_;
  Questions questions_;
  Knocks knocks_;
  std::thread thread_;
};

}  // namespace tessera
