// A trainer that takes jobs while others are not ready yet: it trains each when it joins.
#pragma once

#include <algorithm>
#include <mutex>

#include "node/trainer.h"

namespace tessera {

class Early final : public Trainer {
 public:
  explicit Early(Trainer& trainer) : trainer_(trainer) {}
  std::size_t dimension() const override { return trainer_.dimension(); }
  Vector initial_model() const override { return trainer_.initial_model(); }
  void train(std::span<TrainJob> cohort) override { trainer_.train(cohort); }
  bool takes_early(std::size_t) const override { return true; }
  void open(std::span<TrainJob> cohort) override {
    cohort_ = cohort;
    widest = std::max(widest, cohort.size());
    is_open = true;
  }
  void join(std::size_t job) override {
    const std::lock_guard lock(mutex_);
    ++joined;
    trainer_.train(cohort_.subspan(job, 1));
  }
  void close() override { is_open = false; }

  bool is_open = false;
  std::size_t joined = 0;  // Jobs, so far.
  std::size_t widest = 0;  // Cohort, so far.

 private:
  Trainer& trainer_;
  std::span<TrainJob> cohort_{};
  std::mutex mutex_;
};

}  // namespace tessera
