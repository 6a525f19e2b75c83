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
  void withdraw(Instant now, NodeId from, std::vector<Receipt>& receipts) override {
    take_back(now, from, half_sent_, receipts);
  }
  void cut_off(Instant now, NodeId from, std::vector<Receipt>& receipts) override {
    take_back(now, from, HalfSent::kLost, receipts);
  }
  Instant next() const override {
    if (share_.unsolved()) return changed_at_;
    const Instant next = std::min(share_.next(), in_flight_.next());
    // A change of rates matters only while something is being sent.
    return messages_.size() == free_.size() ? next : std::min(next, rates_.next_change());
  }
  void advance(Instant now, std::vector<Receipt>& receipts) override;

  std::optional<MessageId> upcoming(std::size_t others) const override {
    return in_flight_.after(others);
  }

  std::size_t queued(NodeId from, Instant) const override { return senders_[from].messages; }
  std::uint64_t queued_bytes(NodeId from, Instant now) const override;
  double up_rate(NodeId from) const override { return share_.capacity(from); }
  void list_carried(std::vector<CarriedMessage>& all) const override;

  void fields(Archive& archive) override;

 private:
  struct Message {
    Parcel parcel{};
    std::uint32_t next = kNone;  // The one behind it, to the same node.
    LinkShare::Slot flow = kNone;

    void fields(Archive& archive) { archive(parcel, next, flow); }
  };
  // A sender's connection to one receiver, while it has messages: a list whose first one is under
  // way or waits for its turn.
  struct Connection {
    NodeId to = 0;
    std::uint32_t first = kNone, last = kNone;

    void fields(Archive& archive) { archive(to, first, last); }
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
  void take_back(Instant now, NodeId from, HalfSent half_sent, std::vector<Receipt>& receipts);
  void drop(std::uint32_t message, Instant now, std::vector<Receipt>& receipts);
  SharedFlow flow_of(const Parcel& parcel) const {
    return {{parcel.from, nodes_ + parcel.to}, path_(parcel.from, parcel.to).rate};
  }
  bool restore();
  bool restore_connection(NodeId from, const Connection& to, std::vector<bool>& seen);
  bool restore_flow(Sender& sender, std::uint32_t message);

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
  const LinkShare::Slot slot = share_.add(now, flow_of(parcel), static_cast<double>(parcel.bytes));
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
  in_flight_.push(later(now, path_(parcel.from, parcel.to).latency), parcel.id, parcel.bytes);
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

void Links::advance(Instant now, std::vector<Receipt>& receipts) {
  keep_up(now);
  finish_due(now);
  while (share_.unsolved()) {
    share_.solve(now);
    finish_due(now);  // What is empty, or had less than a nanosecond to go.
  }
  const std::size_t begin = receipts.size();
  in_flight_.take(now, receipts);
  sort_receipts(receipts, begin);
}

void Links::take_back(Instant now, NodeId from, HalfSent half_sent,
                      std::vector<Receipt>& receipts) {
  keep_up(now);
  finish_due(now);  // What has wholly left by now stays on its way.
  Sender& sender = senders_[from];
  if (sender.messages == 0) return;
  const std::size_t begin = receipts.size();
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
    while (message != kNone) drop(std::exchange(message, messages_[message].next), now, receipts);
  }
  sort_receipts(receipts, begin);
  sender = std::move(rest);
  changed_at_ = now;
}

void Links::drop(std::uint32_t message, Instant now, std::vector<Receipt>& receipts) {
  const Message& dropped = messages_[message];
  receipts.push_back({dropped.parcel.id, false, bytes_sent(dropped, now)});
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

void Links::list_carried(std::vector<CarriedMessage>& all) const {
  for (const Sender& sender : senders_)
    for (const Connection& to : sender.connections)
      for (std::uint32_t at = to.first; at != kNone; at = messages_[at].next)
        all.push_back({messages_[at].parcel.id, messages_[at].parcel.bytes});
  in_flight_.list(all);
}

void Links::fields(Archive& archive) {
  archive(rates_, changed_at_, messages_, free_, share_);
  for (Sender& sender : senders_) archive(sender.connections);
  archive(in_flight_);
  if (archive.loading() && archive.ok().ok() && !restore())
    archive.refuse("the messages under way do not hold together");
}

// Fills in what follows from the connections, once they are loaded; whether it can be. Each message
// is free or on one connection, each flow is the first message of one.
bool Links::restore() {
  const std::vector<double> expected = capacities();
  for (LinkShare::Link link = 0; link < expected.size(); ++link)
    if (share_.capacity(link) != expected[link]) return false;
  std::vector<bool> seen(messages_.size(), false);
  for (const std::uint32_t message : free_) {
    if (message >= seen.size() || seen[message]) return false;
    seen[message] = true;
  }
  std::size_t flows = 0;
  for (NodeId from = 0; from < nodes_; ++from) {
    Sender& sender = senders_[from];
    NodeId lowest = 0;
    for (const Connection& to : sender.connections) {
      if (to.to < lowest || to.to >= nodes_ || !restore_connection(from, to, seen)) return false;
      lowest = to.to + 1;
    }
    if (sender.under_way > parallel_) return false;
    if (sender.under_way < parallel_ && !sender.waiting.empty()) return false;
    flows += sender.under_way;
  }
  return flows == share_.size() && std::find(seen.begin(), seen.end(), false) == seen.end();
}

bool Links::restore_connection(NodeId from, const Connection& to, std::vector<bool>& seen) {
  Sender& sender = senders_[from];
  std::uint32_t last = kNone;
  for (std::uint32_t at = to.first; at != kNone; at = messages_[at].next) {
    if (at >= messages_.size() || seen[at]) return false;
    seen[at] = true;
    const Message& message = messages_[at];
    if (message.parcel.from != from || message.parcel.to != to.to) return false;
    if (at != to.first && message.flow != kNone) return false;
    ++sender.messages;
    sender.bytes += message.parcel.bytes;
    last = at;
  }
  return last != kNone && last == to.last && restore_flow(sender, to.first);
}

bool Links::restore_flow(Sender& sender, std::uint32_t message) {
  const Parcel& parcel = messages_[message].parcel;
  const LinkShare::Slot slot = messages_[message].flow;
  if (slot == kNone) {
    sender.waiting.emplace(parcel.id, message);
    return true;
  }
  if (!share_.has(slot)) return false;
  const SharedFlow flow = share_.flow(slot), expected = flow_of(parcel);
  if (flow.links != expected.links || flow.limit != expected.limit) return false;
  if (slot >= message_of_.size()) message_of_.resize(slot + 1, kNone);
  if (message_of_[slot] != kNone) return false;
  message_of_[slot] = message;
  ++sender.under_way;
  return true;
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
