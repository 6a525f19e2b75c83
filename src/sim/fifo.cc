// A node sends one message at a time, in the order they were offered, at the slower of its own
// up-link and the receiver's down-link; the message arrives a latency after its last byte has left.
// Receivers are never crowded: two messages to one node do not slow each other down. That is the
// natural reading of a sender that empties a queue, and the cheapest model with a notion of time.
//
//   60 Mbit/s, latency 1 ms, two messages of 36,000 bytes offered at 0: each takes 4.8 ms to leave,
//   so they arrive at 5.8 ms and at 10.6 ms.
#include <algorithm>
#include <deque>
#include <utility>

#include "base/check.h"
#include "sim/network_kinds.h"
#include "sim/network_rates.h"
#include "sim/network_timeline.h"

namespace tessera {
namespace {

class Fifo final : public Network {
 public:
  Fifo(NodeRates rates, Duration latency)
      : rates_(std::move(rates)),
        latency_(latency),
        senders_(rates_.nodes()),
        done_(rates_.nodes()) {}

  void offer(Instant now, const Parcel& parcel) override {
    CHECK(parcel.from < senders_.size());
    CHECK(parcel.to < senders_.size());
    keep_up(now);
    Sender& sender = senders_[parcel.from];
    sender.queue.push_back(parcel);
    sender.bytes += parcel.bytes;
    ++messages_;
    if (sender.queue.size() == 1) start(parcel.from, now);
  }

  void withdraw(Instant now, NodeId from, std::vector<Outcome>& outcomes) override {
    keep_up(now);
    Sender& sender = senders_[from];
    while (!sender.queue.empty() && done_.at(from) <= now) finish(from, now);
    if (sender.queue.empty()) return;
    outcomes.push_back({sender.queue.front().id, false, sent_of_front(sender, now)});
    for (std::size_t i = 1; i < sender.queue.size(); ++i)
      outcomes.push_back({sender.queue[i].id, false, 0});
    messages_ -= sender.queue.size();
    sender = Sender{};
    done_.set(from, kNever);
  }

  Instant next() const override {
    const Instant next = std::min(done_.at(), in_flight_.next());
    // Rates that change while nobody sends concern nobody.
    return messages_ == 0 ? next : std::min(next, rates_.next_change());
  }

  void advance(Instant now, std::vector<Outcome>& outcomes) override {
    keep_up(now);
    while (done_.at() <= now) finish(static_cast<NodeId>(done_.first()), now);
    const std::size_t begin = outcomes.size();
    in_flight_.take(now, outcomes);
    sort_outcomes(outcomes, begin);
  }

  std::size_t queued(NodeId from) const override { return senders_[from].queue.size(); }
  std::uint64_t queued_bytes(NodeId from, Instant now) const override {
    const Sender& sender = senders_[from];
    return sender.queue.empty() ? 0 : sender.bytes - sent_of_front(sender, now);
  }
  double up_rate(NodeId from) const override { return rates_.up(from); }

  void save(Bytes& out) const override;
  Result<void> load(ByteReader& in) override;

 private:
  struct Sender {
    std::deque<Parcel> queue{};  // The front is being sent.
    std::uint64_t bytes = 0;     // Of the whole queue.
    double left = 0;             // Of the front, at `since`.
    double rate = 0;
    Instant since{};
  };

  static std::uint64_t sent_of_front(const Sender& sender, Instant now) {
    const auto size = static_cast<double>(sender.queue.front().bytes);
    const double sent = size - sender.left + sender.rate * to_seconds(now - sender.since);
    return static_cast<std::uint64_t>(std::clamp(sent, 0.0, size));
  }

  double rate_of(const Parcel& parcel) const {
    return std::min(rates_.up(parcel.from), rates_.down(parcel.to));
  }

  // Makes the changes of rate that are due. Those of this very instant find every transfer at the
  // point it has reached.
  void keep_up(Instant now) {
    if (rates_.next_change() > now || !rates_.advance(now)) return;
    for (NodeId from = 0; from < senders_.size(); ++from) {
      Sender& sender = senders_[from];
      if (sender.queue.empty() || done_.at(from) <= now) continue;
      const double rate = rate_of(sender.queue.front());
      if (rate == sender.rate) continue;
      sender.left -= sender.rate * to_seconds(now - sender.since);
      sender.rate = rate;
      sender.since = now;
      done_.set(from, when_sent(now, sender.left, rate));
    }
  }

  void start(NodeId from, Instant now) {
    Sender& sender = senders_[from];
    const Parcel& parcel = sender.queue.front();
    sender.left = static_cast<double>(parcel.bytes);
    sender.rate = rate_of(parcel);
    sender.since = now;
    done_.set(from, when_sent(now, sender.left, sender.rate));
  }

  void finish(NodeId from, Instant now) {
    Sender& sender = senders_[from];
    const Parcel& parcel = sender.queue.front();
    in_flight_.push(now + latency_, parcel.id, parcel.bytes);
    sender.bytes -= parcel.bytes;
    sender.queue.pop_front();
    --messages_;
    if (sender.queue.empty())
      done_.set(from, kNever);
    else
      start(from, now);
  }

  NodeRates rates_;
  Duration latency_;
  std::vector<Sender> senders_;
  Earliest done_;  // When each sender's front has left.
  InFlight in_flight_;
  std::size_t messages_ = 0;  // In all queues.
};

void Fifo::save(Bytes& out) const {
  ByteWriter writer(out);
  for (const Sender& sender : senders_) {
    writer.put<std::uint64_t>(sender.queue.size());
    for (const Parcel& parcel : sender.queue) {
      writer.put(parcel.id);
      writer.put(parcel.to);
      writer.put(parcel.bytes);
    }
    writer.put(sender.left);
    writer.put(sender.rate);
    writer.put<std::int64_t>(sender.since.time_since_epoch().count());
  }
  in_flight_.save(out);
  rates_.save(out);
}

Result<void> Fifo::load(ByteReader& in) {
  messages_ = 0;
  for (NodeId from = 0; from < senders_.size(); ++from) {
    Sender sender;
    const auto count = in.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count && !in.ran_short(); ++i) {
      Parcel parcel{.id = in.get<MessageId>(), .from = from};
      parcel.to = in.get<NodeId>();
      parcel.bytes = in.get<std::uint64_t>();
      if (parcel.to >= senders_.size()) return Error{"checkpoint", "a message to nobody"};
      sender.bytes += parcel.bytes;
      sender.queue.push_back(parcel);
      ++messages_;
    }
    sender.left = in.get<double>();
    sender.rate = in.get<double>();
    sender.since = Instant(Duration(in.get<std::int64_t>()));
    if (in.ran_short()) return Error{"checkpoint", "a queue of messages is cut short"};
    senders_[from] = std::move(sender);
    const Sender& loaded = senders_[from];
    done_.set(from,
              loaded.queue.empty() ? kNever : when_sent(loaded.since, loaded.left, loaded.rate));
  }
  if (Result<void> loaded = in_flight_.load(in); !loaded) return loaded;
  return rates_.load(in);
}

}  // namespace

std::unique_ptr<Network> make_fifo(Options& options, const NetworkContext& context) {
  NodeRates rates = NodeRates::read(options, context, kDefaultRate);
  const Duration latency = options.duration("latency", kDefaultLatency);
  return std::make_unique<Fifo>(std::move(rates), latency);
}

}  // namespace tessera
