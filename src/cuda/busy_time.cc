#include "cuda/busy_time.h"

#include <algorithm>
#include <iterator>

namespace tessera::cuda {

void BusyTime::add(double begin, double end) {
  begin = std::max(begin, older_until_);
  if (end <= begin) return;
  auto next = recent_.upper_bound(begin);
  if (next != recent_.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != recent_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = recent_.erase(next);
  }
  recent_[begin] = end;
  if (recent_.size() <= kRecent) return;
  const auto oldest = recent_.begin();
  older_ += oldest->second - oldest->first;
  older_until_ = oldest->second;
  recent_.erase(oldest);
}

double BusyTime::seconds() const {
  double sum = older_;
  for (const auto& [begin, end] : recent_) sum += end - begin;
  return sum;
}

BusyClock::BusyClock() {
  const Stream stream;
  origin_.record(stream);
  stream.wait();
}

void BusyClock::add(Stretch& stretch) {
  constexpr double kFarS = 1;
  const std::lock_guard lock(mutex_);
  const double end = origin_s_ + stretch.end.seconds_since(origin_);
  busy_.add(end - stretch.end.seconds_since(stretch.begin), end);
  if (end < origin_s_ + kFarS) return;
  origin_.swap(stretch.end);
  origin_s_ = end;
}

double BusyClock::seconds() const {
  const std::lock_guard lock(mutex_);
  return busy_.seconds();
}

}  // namespace tessera::cuda
