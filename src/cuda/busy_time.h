// How long GPUs computed: the time during which at least one chunk of nodes was between its first
// kernel and its last. Chunks that overlap count once. Copies to and from a GPU do not count; the
// moments between two kernels of a chunk do.
#pragma once

#include <map>
#include <mutex>

#include "cuda/runtime.h"

namespace tessera::cuda {

// The length of a union of intervals that come in nearly their order.
class BusyTime {
 public:
  void add(double begin, double end);
  double seconds() const;

 private:
  // Later ones may still overlap with these, by begin; what is older is only counted.
  static constexpr std::size_t kRecent = 64;
  std::map<double, double> recent_;
  double older_ = 0, older_until_ = -1e300;
};

// What a chunk leaves in its stream, made on its GPU.
struct Stretch {
  Event begin{}, end{};
};

// A GPU's, for all threads that drive it.
class BusyClock {
 public:
  BusyClock();  // Of the calling thread's GPU.

  void add(Stretch& stretch);  // Which is over. Its events may be recorded again.
  double seconds() const;

 private:
  mutable std::mutex mutex_;
  Event origin_;  // Moved along: the time between two events is a float.
  double origin_s_ = 0;
  BusyTime busy_;
};

}  // namespace tessera::cuda
