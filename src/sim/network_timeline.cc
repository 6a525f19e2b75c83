#include "sim/network_timeline.h"

namespace tessera {

void InFlight::save(Bytes& out) const {
  std::vector<Arrival> all(in_order_.begin(), in_order_.end());
  for (auto rest = overtaking_; !rest.empty(); rest.pop()) all.push_back(rest.top());
  std::stable_sort(all.begin(), all.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  ByteWriter writer(out);
  writer.put<std::uint64_t>(all.size());
  for (const Arrival& arrival : all) {
    writer.put<std::int64_t>(arrival.at.time_since_epoch().count());
    writer.put(arrival.id);
    writer.put(arrival.bytes);
  }
}

Result<void> InFlight::load(ByteReader& in) {
  in_order_.clear();
  overtaking_ = {};
  const auto count = in.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < count && !in.ran_short(); ++i) {
    const Instant at{Duration(in.get<std::int64_t>())};
    const auto id = in.get<MessageId>();
    push(at, id, in.get<std::uint64_t>());
  }
  if (in.ran_short()) return Error{"checkpoint", "the messages under way are cut short"};
  return {};
}

}  // namespace tessera
