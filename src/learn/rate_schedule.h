// How the learning rate changes with the local steps a node has made, as torch.optim.lr_scheduler
// has it (there with one scheduler step per minibatch).
//
//   constant  lr
//   step      lr factor^floor(s / every)
//   milestones  lr factor^(how many of `at` are up to s)
//   cosine    lr_min + (lr - lr_min) (1 + cos(pi min(1, s / (length - warmup)))) / 2
//   linear    lr_min + (lr - lr_min) (1 - min(1, s / (length - warmup)))
//
// The first `warmup` steps take lr (t + 1) / warmup, t counted from 0; from then on s = t - warmup.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/spec.h"

namespace tessera {

struct RateSchedule;

struct RateScheduleKind {
  std::string_view name{};
  std::string_view usage{};
  std::string_view summary{};
  bool has_length = false;
  // The rate `step` steps after the warm-up.
  double (*rate)(const RateSchedule& schedule, double lr, double step) = nullptr;
};

std::span<const RateScheduleKind> rate_schedules();

struct RateSchedule {
  const RateScheduleKind* kind = &rate_schedules().front();
  std::uint64_t warmup = 0;
  std::uint64_t every = 1;
  static constexpr std::size_t kMilestonesMax = 8;
  std::array<std::uint64_t, kMilestonesMax> at{};  // Steps; 0: there is none.
  std::uint64_t length = 0;                        // 0: the run's own, which set_length() fills in.
  double factor = 0.1;
  double lr_min = 0;

  // By name: LibTorch's library has a table of its own, and `kind` points into the program's.
  bool constant() const { return warmup == 0 && kind->name == rate_schedules().front().name; }
  bool wants_length() const { return kind->has_length && length == 0; }
  // For a step after `steps` others.
  float rate(float lr, std::uint64_t steps) const;
};

// The keys that the schedule named has. Throws std::invalid_argument.
RateSchedule read_rate_schedule(Options& options, double lr);
// Throws std::invalid_argument where the warm-up takes all of them.
void set_length(RateSchedule& schedule, std::uint64_t steps);

}  // namespace tessera
