#include "sim/links.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "base/check.h"
#include "sim/network_kinds.h"

namespace tessera {
namespace {

constexpr std::uint32_t kNone = ~0u;

class Links final : public Network {
 public:
  Links(LinksParts parts, std::uint32_t parallel, double tolerance, HalfSent half_sent)
      : nodes_(parts.rates.nodes()),
        rates_(std::move(parts.rates)),
        path_(std::move(parts.path)),
        parallel_(parallel),
        half_sent_(half_sent),
        share_(capacities(), tolerance),
        senders_(nodes_) {}

  void offer(Instant now, const Parcel& parcel) override;
  void withdraw(Instant now, NodeId from, std::vector<Outcome>& outcomes) override {
    take_back(now, from, half_sent_, outcomes);
  }
  void cut_off(Instant now, NodeId from, std::vector<Outcome>& outcomes) override {
    take_back(now, from, HalfSent::kLost, outcomes);
  }
  Instant next() const override {
    if (share_.unsolved()) return changed_at_;
    const Instant next = std::min(share_.next(), in_flight_.next());
    // Rates that change while nobody sends concern nobody.
    return messages_.size() == free_.size() ? next : std::min(next, rates_.next_change());
  }
  void advance(Instant now, std::vector<Outcome>& outcomes) override;

  std::optional<MessageId> arriving_after(std::size_t others) const override {
    return in_flight_.after(others);
  }

  std::size_t queued(NodeId from, Instant) const override { return senders_[from].messages; }
  std::uint64_t queued_bytes(NodeId from, Instant now) const override;
  double up_rate(NodeId from) const override { return share_.capacity(from); }

  void save(Bytes& out) const override;
  Result<void> load(ByteReader& in) override;

 private:
  struct Message {
    Parcel parcel{};
    std::uint32_t next = kNone;  // The one behind it, to the same node.
    LinkShare::Slot flow = kNone;
  };
  // A sender's connection to one receiver, while it has messages: a list whose first one is under
  // way or waits for its turn.
  struct Connection {
    NodeId to = 0;
    std::uint32_t first = kNone, last = kNone;
  };
  struct Sender {
    std::vector<Connection> connections{};  // By receiver.
    // Connections whose first message waits for one of the sender's transfers to end, by that
    // message's id: the oldest goes first.
    std::priority_queue<std::pair<MessageId, std::uint32_t>,
                        std::vector<std::pair<MessageId, std::uint32_t>>, std::greater<>>
        waiting{};
    std::uint32_t under_way = 0;
    std::size_t messages = 0;
    std::uint64_t bytes = 0;  // Of all its messages.
  };

  // Up-links first, then down-links.
  std::vector<double> capacities() const {
    std::vector<double> all(2 * nodes_);
    for (NodeId node = 0; node < nodes_; ++node) {
      all[node] = rates_.up(node);
      all[nodes_ + node] = rates_.down(node);
    }
    return all;
  }

  Connection& connection(Sender& sender, NodeId to);
  std::uint32_t new_message(const Parcel& parcel);
  std::uint64_t bytes_sent(const Message& message, Instant now) const;
  void its_turn(Sender& sender, std::uint32_t message, Instant now);
  void start(Sender& sender, std::uint32_t message, Instant now);
  void finish(std::uint32_t message, Instant now);
  void finish_due(Instant now);
  void keep_up(Instant now);
  void take_back(Instant now, NodeId from, HalfSent half_sent, std::vector<Outcome>& outcomes);
  void drop(std::uint32_t message, Instant now, std::vector<Outcome>& outcomes);
  Result<void> load_connections(ByteReader& in, Sender& sender);

  std::uint32_t nodes_;
  NodeRates rates_;
  std::function<PathTraits(NodeId, NodeId)> path_;
  std::uint32_t parallel_;
  HalfSent half_sent_;
  LinkShare share_;
  Instant changed_at_{};  // When share_ was last given something to solve.
  std::vector<Sender> senders_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> message_of_;  // By flow.
  InFlight in_flight_;
  std::vector<LinkShare::Slot> done_;    // Scratch.
  std::vector<std::uint32_t> finished_;  // Scratch.
};

void Links::offer(Instant now, const Parcel& parcel) {
  CHECK(parcel.from < nodes_);
  CHECK(parcel.to < nodes_);
  keep_up(now);
  Sender& sender = senders_[parcel.from];
  const std::uint32_t message = new_message(parcel);
  ++sender.messages;
  sender.bytes += parcel.bytes;
  Connection& to = connection(sender, parcel.to);
  if (to.first != kNone) {
    messages_[to.last].next = message;
    to.last = message;
  } else {
    to.first = to.last = message;
    its_turn(sender, message, now);
  }
}

std::uint32_t Links::new_message(const Parcel& parcel) {
  if (free_.empty()) {
    messages_.push_back({.parcel = parcel});
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }
  const std::uint32_t message = free_.back();
  free_.pop_back();
  messages_[message] = {.parcel = parcel};
  return message;
}

Links::Connection& Links::connection(Sender& sender, NodeId to) {
  const auto place = std::lower_bound(sender.connections.begin(), sender.connections.end(), to,
                                      [](const Connection& c, NodeId id) { return c.to < id; });
  if (place != sender.connections.end() && place->to == to) return *place;
  return *sender.connections.insert(place, {.to = to});
}

void Links::its_turn(Sender& sender, std::uint32_t message, Instant now) {
  if (sender.under_way < parallel_)
    start(sender, message, now);
  else
    sender.waiting.emplace(messages_[message].parcel.id, message);
}

void Links::start(Sender& sender, std::uint32_t message, Instant now) {
  const Parcel& parcel = messages_[message].parcel;
  const SharedFlow flow{{parcel.from, nodes_ + parcel.to}, path_(parcel.from, parcel.to).rate};
  const LinkShare::Slot slot = share_.add(now, flow, static_cast<double>(parcel.bytes));
  messages_[message].flow = slot;
  if (slot >= message_of_.size()) message_of_.resize(slot + 1, kNone);
  message_of_[slot] = message;
  ++sender.under_way;
  changed_at_ = now;
}

// The message has wholly left.
void Links::finish(std::uint32_t message, Instant now) {
  const Message gone = messages_[message];
  const Parcel& parcel = gone.parcel;
  Sender& sender = senders_[parcel.from];
  share_.remove(gone.flow);
  free_.push_back(message);
  in_flight_.push(now + path_(parcel.from, parcel.to).latency, parcel.id, parcel.bytes);
  --sender.under_way;
  --sender.messages;
  sender.bytes -= parcel.bytes;
  Connection& to = connection(sender, parcel.to);
  to.first = gone.next;
  if (gone.next == kNone)
    sender.connections.erase(sender.connections.begin() + (&to - sender.connections.data()));
  else
    sender.waiting.emplace(messages_[gone.next].parcel.id, gone.next);
  while (!sender.waiting.empty() && sender.under_way < parallel_) {
    const std::uint32_t oldest = sender.waiting.top().second;
    sender.waiting.pop();
    start(sender, oldest, now);
  }
  changed_at_ = now;
}

// In the order of ids, so that what starts in their place does not depend on how flows are kept.
void Links::finish_due(Instant now) {
  done_.clear();
  share_.take_done(now, done_);
  finished_.clear();
  for (const LinkShare::Slot slot : done_) finished_.push_back(message_of_[slot]);
  std::sort(finished_.begin(), finished_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return messages_[a].parcel.id < messages_[b].parcel.id;
  });
  for (const std::uint32_t message : finished_) finish(message, now);
}

// Makes the changes of rate that are due.
void Links::keep_up(Instant now) {
  if (rates_.next_change() > now || !rates_.advance(now)) return;
  const std::vector<double> changed = capacities();
  for (LinkShare::Link link = 0; link < changed.size(); ++link)
    if (changed[link] != share_.capacity(link)) share_.set_capacity(link, changed[link]);
  changed_at_ = now;
}

void Links::advance(Instant now, std::vector<Outcome>& outcomes) {
  keep_up(now);
  finish_due(now);
  while (share_.unsolved()) {
    share_.solve(now);
    finish_due(now);  // What is empty, or had less than a nanosecond to go.
  }
  const std::size_t begin = outcomes.size();
  in_flight_.take(now, outcomes);
  sort_outcomes(outcomes, begin);
}

void Links::take_back(Instant now, NodeId from, HalfSent half_sent,
                      std::vector<Outcome>& outcomes) {
  keep_up(now);
  finish_due(now);  // What has wholly left by now stays on its way.
  Sender& sender = senders_[from];
  if (sender.messages == 0) return;
  const std::size_t begin = outcomes.size();
  Sender rest;  // What goes through all the same.
  for (Connection to : sender.connections) {
    std::uint32_t message = to.first;
    if (half_sent == HalfSent::kFinished && messages_[message].flow != kNone) {
      message = std::exchange(messages_[to.first].next, kNone);
      to.last = to.first;
      rest.connections.push_back(to);
      ++rest.under_way;
      ++rest.messages;
      rest.bytes += messages_[to.first].parcel.bytes;
    }
    while (message != kNone) drop(std::exchange(message, messages_[message].next), now, outcomes);
  }
  sort_outcomes(outcomes, begin);
  sender = std::move(rest);
  changed_at_ = now;
}

void Links::drop(std::uint32_t message, Instant now, std::vector<Outcome>& outcomes) {
  const Message& dropped = messages_[message];
  outcomes.push_back({dropped.parcel.id, false, bytes_sent(dropped, now)});
  if (dropped.flow != kNone) share_.remove(dropped.flow);
  free_.push_back(message);
}

std::uint64_t Links::bytes_sent(const Message& message, Instant now) const {
  if (message.flow == kNone) return 0;
  const auto size = static_cast<double>(message.parcel.bytes);
  return static_cast<std::uint64_t>(
      std::clamp(size - share_.bytes_left(message.flow, now), 0.0, size));
}

std::uint64_t Links::queued_bytes(NodeId from, Instant now) const {
  const Sender& sender = senders_[from];
  std::uint64_t bytes = sender.bytes;
  for (const Connection& to : sender.connections) bytes -= bytes_sent(messages_[to.first], now);
  return bytes;
}

void Links::save(Bytes& out) const {
  ByteWriter writer(out);
  writer.put<std::int64_t>(changed_at_.time_since_epoch().count());
  writer.put<std::uint64_t>(messages_.size());
  for (const Message& message : messages_) {
    writer.put(message.parcel.id);
    writer.put(message.parcel.from);
    writer.put(message.parcel.to);
    writer.put(message.parcel.bytes);
    writer.put(message.next);
    writer.put(message.flow);
  }
  writer.put<std::uint64_t>(free_.size());
  for (const std::uint32_t message : free_) writer.put(message);
  share_.save(out);
  for (const Sender& sender : senders_) {
    writer.put<std::uint64_t>(sender.connections.size());
    for (const Connection& to : sender.connections) {
      writer.put(to.first);
      writer.put(to.last);
    }
  }
  in_flight_.save(out);
  rates_.save(out);
}

Result<void> Links::load(ByteReader& in) {
  const Error broken{"checkpoint", "the messages under way do not hold together"};
  changed_at_ = Instant(Duration(in.get<std::int64_t>()));
  const auto count = in.get<std::uint64_t>();
  if (count > in.left()) return broken;
  messages_.assign(count, {});
  for (Message& message : messages_) {
    message.parcel.id = in.get<MessageId>();
    message.parcel.from = in.get<NodeId>();
    message.parcel.to = in.get<NodeId>();
    message.parcel.bytes = in.get<std::uint64_t>();
    message.next = in.get<std::uint32_t>();
    message.flow = in.get<std::uint32_t>();
    const bool next_exists = message.next == kNone || message.next < count;
    if (message.parcel.from >= nodes_ || message.parcel.to >= nodes_ || !next_exists) return broken;
  }
  const auto free = in.get<std::uint64_t>();
  if (free > count) return broken;
  free_.assign(free, 0);
  for (std::uint32_t& message : free_)
    if ((message = in.get<std::uint32_t>()) >= count) return broken;
  if (Result<void> loaded = share_.load(in); !loaded) return loaded;
  for (Sender& sender : senders_)
    if (Result<void> loaded = load_connections(in, sender); !loaded) return loaded;
  if (Result<void> loaded = in_flight_.load(in); !loaded) return loaded;
  return rates_.load(in);
}

// A sender's counters and the messages waiting for their turn follow from its connections.
Result<void> Links::load_connections(ByteReader& in, Sender& sender) {
  const Error broken{"checkpoint", "a connection's messages do not hold together"};
  sender = Sender{};
  const auto count = in.get<std::uint64_t>();
  if (count > nodes_) return broken;
  for (std::uint64_t i = 0; i < count; ++i) {
    Connection to{.first = in.get<std::uint32_t>(), .last = in.get<std::uint32_t>()};
    if (in.ran_short() || to.first >= messages_.size() || to.last >= messages_.size())
      return broken;
    const Message& first = messages_[to.first];
    to.to = first.parcel.to;
    sender.connections.push_back(to);
    if (first.flow == kNone) {
      sender.waiting.emplace(first.parcel.id, to.first);
    } else {
      if (!share_.has(first.flow)) return broken;
      ++sender.under_way;
      if (first.flow >= message_of_.size()) message_of_.resize(first.flow + 1, kNone);
      message_of_[first.flow] = to.first;
    }
    for (std::uint32_t at = to.first; at != kNone; at = messages_[at].next) {
      if (++sender.messages > messages_.size()) return broken;  // They run in a circle.
      sender.bytes += messages_[at].parcel.bytes;
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<Network> make_shared_links(Options& options, LinksParts parts) {
  // DivShare's queue of 60 fragments: see docs/networks.md for what other bounds do to it.
  std::uint32_t parallel = 8;
  if (options.text("parallel", "") == "all")
    parallel = ~0u;
  else
    parallel = static_cast<std::uint32_t>(options.integer("parallel", parallel, between(1, 1e9)));
  const double tolerance = options.number("tolerance", 0.002, between(1e-9, 0.5));
  return std::make_unique<Links>(std::move(parts), parallel, tolerance, read_half_sent(options));
}

std::unique_ptr<Network> make_links(Options& options, const NetworkContext& context) {
  LinksParts parts{.rates = NodeRates::read(options, context, kDefaultRate)};
  const Duration latency = options.duration("latency", kDefaultLatency);
  parts.path = [latency](NodeId, NodeId) { return PathTraits{.latency = latency}; };
  return make_shared_links(options, std::move(parts));
}

}  // namespace tessera
