#include "learn/rate_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

#include "base/table.h"

namespace tessera {
namespace {

// How much of the way is behind, from 0 to 1.
double progress(const RateSchedule& schedule, double step) {
  return std::min(1.0, step / static_cast<double>(schedule.length - schedule.warmup));
}

double constant_rate(const RateSchedule&, double lr, double) {
  return lr;
}

double step_rate(const RateSchedule& schedule, double lr, double step) {
  return lr * std::pow(schedule.factor, std::floor(step / static_cast<double>(schedule.every)));
}

double milestones_rate(const RateSchedule& schedule, double lr, double step) {
  const auto passed =
      std::count_if(schedule.at.begin(), schedule.at.end(), [&](std::uint64_t milestone) {
        return milestone > 0 && static_cast<double>(milestone) <= step;
      });
  return lr * std::pow(schedule.factor, static_cast<double>(passed));
}

double cosine_rate(const RateSchedule& schedule, double lr, double step) {
  const double turn = std::cos(std::numbers::pi * progress(schedule, step));
  return schedule.lr_min + (lr - schedule.lr_min) * (1 + turn) / 2;
}

double linear_rate(const RateSchedule& schedule, double lr, double step) {
  return schedule.lr_min + (lr - schedule.lr_min) * (1 - progress(schedule, step));
}

constexpr std::array kRateSchedules = {
    RateScheduleKind{.name = "constant",
                     .usage = "schedule=constant,warmup=0",
                     .summary = "the same rate throughout, after a linear warm-up if there is one",
                     .rate = constant_rate},
    RateScheduleKind{.name = "step",
                     .usage = "schedule=step,every=1000,factor=0.1,warmup=0",
                     .summary = "times a factor after every so many local steps",
                     .rate = step_rate},
    RateScheduleKind{.name = "milestones",
                     .usage = "schedule=milestones,at=15000/18000,factor=0.1,warmup=0",
                     .summary = "times a factor at each of these local steps",
                     .rate = milestones_rate},
    RateScheduleKind{
        .name = "cosine",
        .usage = "schedule=cosine,length=…,lr_min=0,warmup=0",
        .summary = "half a cosine down to lr_min in `length` local steps, by default all",
        .has_length = true,
        .rate = cosine_rate},
    RateScheduleKind{.name = "linear",
                     .usage = "schedule=linear,length=…,lr_min=0,warmup=0",
                     .summary = "a line down to lr_min in `length` local steps, by default all",
                     .has_length = true,
                     .rate = linear_rate},
};

void refuse_long_warmup(const RateSchedule& schedule) {
  if (schedule.kind->has_length && schedule.warmup >= schedule.length)
    throw std::invalid_argument(
        fmt::format("training: warmup={} leaves nothing of the {} steps that schedule={} takes: "
                    "use a shorter one",
                    schedule.warmup, schedule.length, schedule.kind->name));
}

}  // namespace

std::span<const RateScheduleKind> rate_schedules() {
  return kRateSchedules;
}

float RateSchedule::rate(float lr, std::uint64_t steps) const {
  if (steps < warmup)
    return static_cast<float>(double{lr} * static_cast<double>(steps + 1) /
                              static_cast<double>(warmup));
  return static_cast<float>(kind->rate(*this, double{lr}, static_cast<double>(steps - warmup)));
}

RateSchedule read_rate_schedule(Options& options, double lr) {
  const auto count = [&](std::string_view key, std::int64_t fallback, Interval accepted) {
    return static_cast<std::uint64_t>(options.integer(key, fallback, accepted));
  };
  RateSchedule schedule;
  schedule.kind =
      &require_entry(rate_schedules(), "schedule", options.text("schedule", "constant"));
  schedule.warmup = count("warmup", 0, between(0, 1e12));
  if (schedule.kind->name == "step") {
    schedule.every = count("every", 1000, between(1, 1e12));
    schedule.factor = options.number("factor", 0.1, above_up_to(0, 1));
  }
  if (schedule.kind->name == "milestones") {
    const std::vector<double> at = options.numbers("at", {1000}, between(1, 1e12));
    if (at.size() > schedule.at.size())
      options.refuse("at", fmt::format("{} milestones are too many: {} at most", at.size(),
                                       schedule.at.size()));
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (at[i] != std::floor(at[i]))
        options.refuse("at", fmt::format("'{}' is not a whole number", at[i]));
      schedule.at[i] = static_cast<std::uint64_t>(at[i]);
    }
    schedule.factor = options.number("factor", 0.1, above_up_to(0, 1));
  }
  if (schedule.kind->has_length) {
    schedule.length = options.has("length") ? count("length", 1, between(1, 1e12)) : 0;
    schedule.lr_min = options.number("lr_min", 0, between(0, lr));
    if (schedule.length > 0) refuse_long_warmup(schedule);
  }
  return schedule;
}

void set_length(RateSchedule& schedule, std::uint64_t steps) {
  schedule.length = steps;
  refuse_long_warmup(schedule);
}

}  // namespace tessera
