#include "sim/network_timeline.h"

namespace tessera {

std::vector<InFlight::Arrival> InFlight::all() const {
  std::vector<Arrival> all(in_order_.begin(), in_order_.end());
  for (auto rest = overtaking_; !rest.empty(); rest.pop()) all.push_back(rest.top());
  std::stable_sort(all.begin(), all.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  return all;
}

void InFlight::list(std::vector<CarriedMessage>& carried) const {
  for (const Arrival& arrival : all()) carried.push_back({arrival.id, arrival.bytes});
}

void InFlight::fields(Archive& archive) {
  std::vector<Arrival> arrivals;
  if (!archive.loading()) arrivals = all();
  archive(arrivals);
  if (!archive.loading()) return;
  in_order_.assign(arrivals.begin(), arrivals.end());
  overtaking_ = {};
  archive.require(std::is_sorted(arrivals.begin(), arrivals.end(),
                                 [](const Arrival& a, const Arrival& b) { return a.at < b.at; }),
                  "the messages on their way are not in the order of arrival");
}

}  // namespace tessera
