// Two nodes with a link to each other, and everything that can happen between them in any order:
// frames that are delivered, changed, repeated, lost or made up, connections that break, a process
// that starts again, members that leave and return, clocks that jump, links that rest. In half of
// the worlds nobody can connect to the first node, and both directions share the connection that it
// makes. Whatever the order, nothing
// crashes and no bound is passed.
#include <algorithm>
#include <array>
#include <deque>

#include "live/link/links.h"

namespace tessera {
namespace {

constexpr std::size_t kMessageMax = 3000;

TransportOptions small_options(QueuePolicy policy) {
  TransportOptions options;
  options.policy = policy;
  options.queue_bytes_max = 8000;
  options.unsent_age_max = std::chrono::seconds(2);
  options.in_flight_bytes_max = 4000;
  options.message_bytes_max = kMessageMax;
  options.held_bytes_extra = 2000;
  options.chunk_bytes_max = 1024;
  return options;
}

// One node, its links, and the connection it has made to the other.
struct Side {
  Side(NodeId self, QueuePolicy policy, bool one_dials_out)
      : id(self), options(small_options(policy)) {
    if (one_dials_out) members[0].address = kDialsOut;
    links = make(self + 1);
  }

  std::unique_ptr<Links> make(std::uint64_t session) {
    auto made = std::make_unique<Links>(id, options, session);
    made->set_members(members);
    return made;
  }
  Link* link() { return links->wake(1 - id); }

  NodeId id;
  TransportOptions options;
  std::vector<Member> members = {{0, "a", "a:1", "key-a"}, {1, "b", "b:1", "key-b"}};
  std::unique_ptr<Links> links;
  std::uint64_t route = 0;        // Of the connection it has made.
  std::deque<Bytes> said, heard;  // On it: its statements, and the answers on their way back.
};

class World {
 public:
  explicit World(ByteSpan bytes) : in_(bytes), one_dials_out_(byte() % 2 == 1) {}
  void run() {
    while (in_.left() > 0) {
      step();
      for (Side& side : sides_) drive(side);
      for (Side& side : sides_) check(side);
    }
  }

 private:
  std::uint8_t byte() { return in_.get<std::uint8_t>(); }
  Side& other(const Side& side) { return sides_[1 - side.id]; }

  void step() {
    const std::uint8_t what = byte();
    Side& side = sides_[what & 1];
    switch ((what >> 1) % 15) {
      case 0:
      case 1:
      case 2:
        return deliver(side, 1 + byte() % 8);
      case 3:
        return change(side);
      case 4:
        return lose_or_repeat(side);
      case 5:
        return make_up(side);
      case 6:
        return push(side);
      case 7:
        return take(side);
      case 8:
        return break_off(side);
      case 9:
        now_ += std::chrono::milliseconds(1 + byte() * 40);
        return;
      case 10:
        return restart(side);
      case 11:
        return change_members(side);
      case 12:
        if (Link* link = side.link()) link->outbox().drop_unsent();
        return;
      case 13:
        if (Link* link = side.link(); link != nullptr && byte() % 8 == 0) link->say_goodbye();
        return;
      case 14:
        return want(side);
    }
  }

  void want(Side& side) {
    const std::array<NodeId, 1> peer = {1 - side.id};
    side.links->want(std::span(peer).first(byte() % 2));
  }
  void rest_unused(Side& side) {
    for (Link* link : side.links->unused(now_)) {
      say(side, *link, Rest{});
      if (!link->rides()) side.heard.clear();
      link->resting(now_);
    }
  }

  static void answer_on(Side& maker, const std::string& route, const Frame& frame) {
    if (route == std::to_string(maker.route)) maker.heard.push_back(encode(frame));
  }
  void say(Side& side, const Link& link, const Frame& frame) {
    if (link.rides())
      answer_on(other(side), link.route(), frame);
    else
      side.said.push_back(encode(frame));
  }

  // As the transport does after every event.
  void drive(Side& side) {
    now_ += std::chrono::milliseconds(1);
    Link* link = side.link();
    if (link == nullptr) return;
    rest_unused(side);
    if (link->wants_hang_up(now_)) break_off(side);
    if (link->wants_connection(now_)) {
      link->connect(now_);
      if (!link->rides()) side.route += 2;
    }
    while (const std::optional<Frame> frame = link->next_frame(now_)) say(side, *link, *frame);
    while (const std::optional<Answer> answer = link->next_answer()) {
      if (answer->route == Link::kOurConnection)
        side.said.push_back(encode(answer->frame));
      else
        answer_on(other(side), answer->route, answer->frame);
    }
    side.links->tick(*link, now_);
    if (now_.time_since_epoch().count() % 5 == 0) side.links->take_changes();
  }

  void hand_over(Side& side, const Bytes& frame) {
    if (Link* link = other(side).link()) link->on_frame(now_, std::to_string(side.route), frame);
  }
  void deliver(Side& side, int count) {
    for (; count > 0 && !side.said.empty(); --count) {
      hand_over(side, side.said.front());
      side.said.pop_front();
    }
    if (side.heard.empty()) return;
    if (Link* link = side.link()) link->on_answer(now_, side.heard.front());
    side.heard.pop_front();
  }
  void change(Side& side) {
    std::deque<Bytes>& frames = byte() % 2 == 0 ? side.said : side.heard;
    const std::size_t at = byte() * 256u + byte();
    const auto bits = static_cast<std::byte>(byte());
    if (frames.empty() || frames.front().empty()) return;
    Bytes& frame = frames.front();
    frame[at % frame.size()] ^= bits;
    if (at % 7 == 0) frame.resize(at % (frame.size() + 1));
  }
  void lose_or_repeat(Side& side) {
    std::deque<Bytes>& frames = byte() % 2 == 0 ? side.said : side.heard;
    if (frames.empty()) return;
    if (byte() % 2 == 0)
      frames.pop_front();
    else
      frames.push_back(frames.front());
  }
  void make_up(Side& side) {
    const std::size_t length = byte();
    const ByteSpan frame = in_.get_bytes(std::min(length, in_.left()));
    if (length % 2 == 0)
      hand_over(side, Bytes(frame.begin(), frame.end()));
    else if (Link* link = side.link())
      link->on_answer(now_, frame);
  }
  void push(Side& side) {
    const std::uint8_t kind = byte() % 8;
    const std::size_t size = byte() * 256u + byte();
    const MessageClass what = kind == 0   ? MessageClass::kControl
                              : kind == 1 ? MessageClass::kOffer
                              : kind == 2 ? MessageClass::kRoster
                                          : MessageClass::kOrdinary;
    const std::size_t most = what == MessageClass::kControl ? 100 : kMessageMax;
    if (Link* link = side.link())
      link->outbox().push(std::make_shared<const Bytes>(size % (most + 1)), what, now_);
  }
  void take(Side& side) {
    while (const std::optional<Incoming> message = side.links->take_next())
      CHECK(message->bytes.size() <= kMessageMax);
  }
  void break_off(Side& side) {
    side.said.clear();
    side.heard.clear();
    if (Link* link = side.link(); link != nullptr && link->connected())
      link->disconnected(now_, "broken");
  }
  void restart(Side& side) {
    if (byte() % 4 != 0) return;
    break_off(side);
    break_off(other(side));
    // Now and then a process that lived before comes back, which is a twin.
    const std::uint8_t which = byte();
    side.links = side.make(which % 8 == 0 ? 1 + which / 8 : ++sessions_);
  }
  void change_members(Side& side) {
    const std::uint8_t how = byte() % 8;
    std::vector<Member> members = side.members;
    if (how == 0) members.resize(1);
    if (how == 1) members[1 - side.id].public_key += "x";
    if (!side.links->set_members(members).empty()) break_off(side);
  }

  static void check(Side& side) {
    const Link* link = side.link();
    if (link == nullptr) return;
    const TransportOptions& options = side.options;
    const PeerState state = link->state();
    CHECK(state.in.held_bytes <= options.held_bytes_max());
    CHECK(state.out.unconfirmed_bytes <= options.in_flight_bytes_max);
    CHECK(state.out.window_bytes >= 1);
    CHECK(state.out.window_bytes <= options.in_flight_bytes_max);
    // Ordinary messages, one more, an offer, and words of a hundred bytes.
    CHECK(state.out.queued_bytes <=
          options.queue_bytes_max + 2 * kMessageMax + 100 * kControlsWaitingMax);
    CHECK(side.links->refusals().size() <= 24);  // Words of ours, never a peer's.
  }

  ByteReader in_;
  bool one_dials_out_;
  Instant now_{};
  std::uint64_t sessions_ = 1000;
  std::array<Side, 2> sides_ = {Side(0, QueuePolicy::kBackPressure, one_dials_out_),
                                Side(1, QueuePolicy::kNewestWins, one_dials_out_)};
};

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  tessera::World(std::as_bytes(std::span(data, size))).run();
  return 0;
}
