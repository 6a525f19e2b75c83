// A network without time: what is offered is delivered at once. What a protocol does on it shows
// what it would do if bandwidth were free.
#include <utility>

#include "sim/network_kinds.h"
#include "sim/network_timeline.h"

namespace tessera {
namespace {

class Ideal final : public Network {
 public:
  void offer(Instant now, const Parcel& parcel) override {
    arriving_.push(now, parcel.id, parcel.bytes);
  }
  // All that was offered has left.
  void withdraw(Instant, NodeId, std::vector<Receipt>&) override {}
  void cut_off(Instant, NodeId, std::vector<Receipt>&) override {}
  Instant next() const override { return arriving_.next(); }
  void advance(Instant now, std::vector<Receipt>& receipts) override {
    const std::size_t begin = receipts.size();
    arriving_.take(now, receipts);
    sort_receipts(receipts, begin);
  }

  // All of them arrive at once.
  std::optional<MessageId> upcoming(std::size_t) const override { return std::nullopt; }

  std::size_t queued(NodeId, Instant) const override { return 0; }
  std::uint64_t queued_bytes(NodeId, Instant) const override { return 0; }
  double up_rate(NodeId) const override { return 0; }
  void list_carried(std::vector<CarriedMessage>& all) const override { arriving_.list(all); }

  void fields(Archive& archive) override { archive(arriving_); }

 private:
  InFlight arriving_;
};

}  // namespace

std::unique_ptr<Network> make_ideal(Options&, const NetworkContext&) {
  return std::make_unique<Ideal>();
}

}  // namespace tessera
