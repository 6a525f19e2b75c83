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
  void withdraw(Instant, NodeId, std::vector<Outcome>&) override {}
  void cut_off(Instant, NodeId, std::vector<Outcome>&) override {}
  Instant next() const override { return arriving_.next(); }
  void advance(Instant now, std::vector<Outcome>& outcomes) override {
    const std::size_t begin = outcomes.size();
    arriving_.take(now, outcomes);
    sort_outcomes(outcomes, begin);
  }

  std::size_t queued(NodeId, Instant) const override { return 0; }
  std::uint64_t queued_bytes(NodeId, Instant) const override { return 0; }
  double up_rate(NodeId) const override { return 0; }

  void save(Bytes& out) const override { arriving_.save(out); }
  Result<void> load(ByteReader& in) override { return arriving_.load(in); }

 private:
  InFlight arriving_;
};

}  // namespace

std::unique_ptr<Network> make_ideal(Options&, const NetworkContext&) {
  return std::make_unique<Ideal>();
}

}  // namespace tessera
