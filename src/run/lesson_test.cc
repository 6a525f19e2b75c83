#include "run/lesson.h"

#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "base/threads.h"

namespace tessera {
namespace {

constexpr std::size_t kJobs = 4;

// Computes from begin() on, and is awaited by all jobs' threads at once.
class Slow final : public Trainer {
 public:
  std::size_t dimension() const override { return 1; }
  Vector initial_model() const override { return {0}; }
  void train(std::span<TrainJob>) override { ++trained; }
  void begin(std::span<TrainJob> cohort) override { begun += cohort.size(); }
  void await(std::size_t job) override {
    all_wait_.arrive_and_wait();
    if (job == 0) {
      const Stopwatch watch;
      while (watch.seconds() < 0.02) std::this_thread::yield();
      waited_s = watch.seconds();
    }
    over_.arrive_and_wait();
    const std::lock_guard lock(mutex_);
    awaited += job;
  }

  bool takes_early(std::size_t jobs) const override { return jobs == kJobs; }
  void open(std::span<TrainJob> cohort) override { begun += cohort.size(); }
  void join(std::size_t job) override { joined += job; }
  void close() override { ++closed; }

  std::size_t trained = 0, begun = 0, awaited = 0, joined = 0, closed = 0;
  double waited_s = 0;  // By all of them together.

 private:
  std::latch all_wait_{kJobs}, over_{kJobs};
  std::mutex mutex_;
};

// A lesson whose trainer is slow and whose time is measured.
struct MeasuredLesson {
  MeasuredLesson() {
    auto owned = std::make_unique<Slow>();
    slow = owned.get();
    learning.trainer = std::move(owned);
    measure(learning, time);
  }
  LessonTime time{};
  Learning learning{};
  const Slow* slow = nullptr;
};

TEST(Measure, WaitsThatOverlapCountOnce) {
  MeasuredLesson lesson;
  Trainer& trainer = *lesson.learning.trainer;
  const Stopwatch watch;
  std::vector<TrainJob> jobs(kJobs);
  trainer.begin(jobs);
  Workers(kJobs).for_each(kJobs, [&](std::size_t job) { trainer.await(job); });
  const double all_s = watch.seconds();
  EXPECT_EQ(lesson.slow->begun, kJobs);
  EXPECT_EQ(lesson.slow->trained, 0u);
  EXPECT_EQ(lesson.slow->awaited, 0u + 1 + 2 + 3);
  EXPECT_GE(lesson.time.training_s, lesson.slow->waited_s);
  EXPECT_LE(lesson.time.training_s, all_s);
}

TEST(Measure, LetsJobsJoin) {
  MeasuredLesson lesson;
  Trainer& trainer = *lesson.learning.trainer;
  std::vector<TrainJob> jobs(kJobs);
  EXPECT_TRUE(trainer.takes_early(kJobs));
  EXPECT_FALSE(trainer.takes_early(kJobs + 1));
  trainer.open(jobs);
  trainer.join(3);
  trainer.close();
  EXPECT_EQ(lesson.slow->begun, kJobs);
  EXPECT_EQ(lesson.slow->joined, 3u);
  EXPECT_EQ(lesson.slow->closed, 1u);
}

}  // namespace
}  // namespace tessera
