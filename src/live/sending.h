// What a node's messages go through above the transport: the counts of what was sent, the messages
// a full queue has turned away, and the last messages to each peer, which are sent again when
// either process has been started anew. docs/live_buffers.md shows all buffers of a message in a
// row; the first two are here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "base/archive.h"
#include "live/link/transport.h"
#include "node/env.h"
#include "node/traffic.h"

namespace tessera {

struct SendingOptions {
  // How many of the last messages to a peer are kept in last_told_.
  std::size_t retold_max = 0;
  // A peer whose queue is full is waited for (the queue's policy is kBackPressure, for protocols
  // that wait for ever anyway); one that takes nothing for this long is not.
  Duration stalled_max = std::chrono::seconds(10);
};

class Sending {
 public:
  // `say` is given a line for the log that people read.
  Sending(Transport& transport, SendingOptions options, std::function<void(std::string_view)> say)
      : transport_(transport), options_(options), say_(std::move(say)) {}

  // To a member of the roster; to others nothing is sent.
  void send(NodeId to, const Payload& payload);
  void drop_unsent();

  // Messages a full queue has turned away, oldest first. While there are any the node is not told
  // that it has trained (back-pressure).
  bool holds_any() const { return !held_.empty(); }
  void retry_held();
  void forget_held() { held_.clear(); }

  // A few times a second: a link that was made anew may lead to a peer that was started anew, and
  // is told again.
  void look_at_links();
  void tell_all_again();

  const Traffic& handed_over() const { return handed_over_; }  // Whatever became of it.
  const Traffic& gone_out();                                   // What has left by now.

  void fields(Archive& archive) { archive(handed_over_, gone_out_, last_told_); }

 private:
  struct Message {
    std::shared_ptr<const Bytes> bytes{};
    void fields(Archive& archive);
  };
  struct Held {
    NodeId to = 0;
    std::shared_ptr<const Bytes> bytes{};
  };
  struct Stall {
    Instant since{};
    std::uint64_t confirmed_bytes = 0;  // All that the peer had taken at `since`, and still has.
    bool said = false;
  };
  bool holds_for(NodeId to) const;
  bool takes_messages(NodeId to);
  void tell_again(NodeId to);

  Transport& transport_;
  SendingOptions options_;
  std::function<void(std::string_view)> say_;
  bool looked_ = false;
  std::map<NodeId, std::uint64_t> connections_;  // Of those linked to, as last looked at.
  std::map<NodeId, std::deque<Message>> last_told_;
  std::deque<Held> held_;
  std::map<NodeId, Stall> stalls_;  // Of peers whose queues were full.
  Traffic handed_over_{};
  Traffic gone_out_{};
  std::map<NodeId, Traffic> counted_;  // What of each link's counts is in gone_out_ already.
};

}  // namespace tessera
