// A node sends one message at a time, in the order they were offered, at the slower of its own
// up-link and the receiver's down-link; the message arrives a latency after its last byte has left.
// Receivers are never crowded: two messages to one node do not slow each other down. That is the
// natural reading of a sender that empties a queue, and the cheapest model with a notion of time.
//
//   60 Mbit/s, latency 1 ms, two messages of 36,000 bytes offered at 0: each takes 4.8 ms to leave,
//   so they arrive at 5.8 ms and at 10.6 ms.
#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/network_kinds.h"
#include "sim/network_rates.h"
#include "sim/network_timeline.h"

namespace tessera {
namespace {

// Parcels that wait, the oldest first, in memory that is kept.
class ParcelQueue {
 public:
  bool empty() const { return head_ == parcels_.size(); }
  std::size_t size() const { return parcels_.size() - head_; }
  const Parcel& front() const { return parcels_[head_]; }
  std::span<const Parcel> all() const { return std::span(parcels_).subspan(head_); }

  void push_back(const Parcel& parcel) { parcels_.push_back(parcel); }
  void pop_front() {
    ++head_;
    if (2 * head_ < parcels_.size()) return;
    parcels_.erase(parcels_.begin(), parcels_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  void clear() {
    parcels_.clear();
    head_ = 0;
  }

  void fields(Archive& archive) {
    parcels_.erase(parcels_.begin(), parcels_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
    archive(parcels_);
  }

 private:
  std::vector<Parcel> parcels_;
  std::size_t head_ = 0;  // What lies before it has gone.
};

class Fifo final : public Network {
 public:
  Fifo(NodeRates rates, Duration latency, HalfSent half_sent)
      : rates_(std::move(rates)),
        latency_(latency),
        half_sent_(half_sent),
        senders_(rates_.nodes()),
        done_(rates_.nodes()) {}

  void offer(Instant now, const Parcel& parcel) override {
    CHECK(parcel.from < senders_.size());
    CHECK(parcel.to < senders_.size());
    catch_up(now);
    Sender& sender = senders_[parcel.from];
    sender.queue.push_back(parcel);
    sender.bytes += parcel.bytes;
    ++messages_;
    if (sender.queue.size() == 1) done_.set(parcel.from, start(sender, now));
  }

  void withdraw(Instant now, NodeId from, std::vector<Receipt>& receipts) override {
    take_back(now, from, half_sent_, receipts);
  }
  void cut_off(Instant now, NodeId from, std::vector<Receipt>& receipts) override {
    take_back(now, from, HalfSent::kLost, receipts);
  }

  Instant next() const override {
    const Instant next = std::min(next_to_leave_arrives(), in_flight_.next());
    // A change of rates matters only while something is being sent.
    return messages_ == 0 ? next : std::min(next, rates_.next_change());
  }

  // A message is heard of a latency after it has left, so those that leave within one latency are
  // looked at together, when the first of them arrives.
  void advance(Instant now, std::vector<Receipt>& receipts) override {
    if (next_to_leave_arrives() <= now || rates_.next_change() <= now) catch_up(now);
    const std::size_t begin = receipts.size();
    in_flight_.take(now, receipts);
    sort_receipts(receipts, begin);
  }

  std::optional<MessageId> upcoming(std::size_t others) const override {
    return in_flight_.after(others);
  }

  std::size_t queued(NodeId from, Instant now) const override {
    return as_of(now, from).queue.size();
  }
  std::uint64_t queued_bytes(NodeId from, Instant now) const override {
    const Sender sender = as_of(now, from);
    return sender.queue.empty() ? 0 : sender.bytes - sent_of_front(sender, now);
  }
  double up_rate(NodeId from) const override { return rates_.up(from); }
  void list_carried(std::vector<CarriedMessage>& all) const override;

  void fields(Archive& archive) override;

 private:
  struct alignas(64) Sender {  // In one line of the cache.
    ParcelQueue queue{};       // The front is being sent.
    std::uint64_t bytes = 0;   // Of the whole queue.
    double left = 0;           // Of the front, at `since`.
    double rate = 0;
    Instant since{};
  };

  void take_back(Instant now, NodeId from, HalfSent half_sent, std::vector<Receipt>& receipts) {
    catch_up(now);
    Sender& sender = senders_[from];
    if (sender.queue.empty()) return;
    const Parcel front = sender.queue.front();
    const bool finishes = half_sent == HalfSent::kFinished;
    if (!finishes) receipts.push_back({front.id, false, sent_of_front(sender, now)});
    for (const Parcel& unsent : sender.queue.all().subspan(1))
      receipts.push_back({unsent.id, false, 0});
    messages_ -= sender.queue.size() - (finishes ? 1 : 0);
    sender.queue.clear();
    if (finishes) sender.queue.push_back(front);
    sender.bytes = finishes ? front.bytes : 0;
    if (!finishes) done_.set(from, kNever);
  }

  static std::uint64_t sent_of_front(const Sender& sender, Instant now) {
    const auto size = static_cast<double>(sender.queue.front().bytes);
    const double sent = size - sender.left + sender.rate * to_seconds(now - sender.since);
    return static_cast<std::uint64_t>(std::clamp(sent, 0.0, size));
  }

  double rate_of(const Parcel& parcel) const {
    return std::min(rates_.up(parcel.from), rates_.down(parcel.to));
  }

  Instant next_to_leave_arrives() const { return later(done_.at(), latency_); }

  // Lets go what has left, each at its own instant, and makes the changes of rate that are due.
  // Those of this very instant find every transfer at the point it has reached.
  void catch_up(Instant now) {
    while (done_.at() < now) finish(static_cast<NodeId>(done_.first()));
    if (rates_.next_change() <= now && rates_.advance(now)) change_rates(now);
    while (done_.at() <= now) finish(static_cast<NodeId>(done_.first()));
  }

  void change_rates(Instant now) {
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

  // Begins with the front of the queue, if there is one; when it will have left.
  Instant start(Sender& sender, Instant now) const {
    if (sender.queue.empty()) return kNever;
    const Parcel& parcel = sender.queue.front();
    sender.left = static_cast<double>(parcel.bytes);
    sender.rate = rate_of(parcel);
    sender.since = now;
    return when_sent(now, sender.left, sender.rate);
  }

  static Parcel take_front(Sender& sender) {
    const Parcel parcel = sender.queue.front();
    sender.bytes -= parcel.bytes;
    sender.queue.pop_front();
    return parcel;
  }

  void finish(NodeId from) {
    Sender& sender = senders_[from];
    const Instant left_at = done_.at(from);
    const Parcel parcel = take_front(sender);
    in_flight_.push(later(left_at, latency_), parcel.id, parcel.bytes);
    --messages_;
    done_.set(from, start(sender, left_at));
  }

  // A sender whose messages may have left since it was last looked at.
  Sender as_of(Instant now, NodeId from) const {
    Sender sender = senders_[from];
    for (Instant done = done_.at(from); done <= now; done = start(sender, done)) take_front(sender);
    return sender;
  }

  const char* restore(NodeId from);

  NodeRates rates_;
  Duration latency_;
  HalfSent half_sent_;
  std::vector<Sender> senders_;
  Earliest done_;  // When each sender's front has left.
  InFlight in_flight_;
  std::size_t messages_ = 0;  // In all queues.
};

void Fifo::list_carried(std::vector<CarriedMessage>& all) const {
  for (const Sender& sender : senders_)
    for (const Parcel& parcel : sender.queue.all()) all.push_back({parcel.id, parcel.bytes});
  in_flight_.list(all);
}

void Fifo::fields(Archive& archive) {
  archive(rates_);
  for (Sender& sender : senders_) archive(sender.queue, sender.left, sender.since);
  archive(in_flight_);
  if (!archive.loading()) return;
  for (NodeId from = 0; from < senders_.size(); ++from)
    if (const char* why = restore(from)) return archive.refuse(why);
}

// What follows from a sender's queue and the rates, once they are loaded; or what cannot be.
const char* Fifo::restore(NodeId from) {
  Sender& sender = senders_[from];
  for (const Parcel& parcel : sender.queue.all()) {
    if (parcel.from != from || parcel.to >= senders_.size())
      return "a message is in the queue of a node that did not send it, or goes to none";
    sender.bytes += parcel.bytes;
    ++messages_;
  }
  if (sender.queue.empty()) return nullptr;
  const Parcel& front = sender.queue.front();
  if (!(std::abs(sender.left) <= static_cast<double>(front.bytes)) || sender.since < Instant{})
    return "more of a message is left to send than there is";
  sender.rate = rate_of(front);
  done_.set(from, when_sent(sender.since, sender.left, sender.rate));
  return nullptr;
}

}  // namespace

std::unique_ptr<Network> make_fifo(Options& options, const NetworkContext& context) {
  NodeRates rates = NodeRates::read(options, context, kDefaultRate);
  const Duration latency = options.duration("latency", kDefaultLatency);
  return std::make_unique<Fifo>(std::move(rates), latency, read_half_sent(options));
}

}  // namespace tessera
