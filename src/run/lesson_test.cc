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

TEST(Measure, WaitsThatOverlapCountOnce) {
  LessonTime time;
  Learning lesson;
  auto owned = std::make_unique<Slow>();
  const Slow& slow = *owned;
  lesson.trainer = std::move(owned);
  measure(lesson, time);
  const Stopwatch watch;
  std::vector<TrainJob> jobs(kJobs);
  lesson.trainer->begin(jobs);
  Workers(kJobs).for_each(kJobs, [&](std::size_t job) { lesson.trainer->await(job); });
  const double all_s = watch.seconds();
  EXPECT_EQ(slow.begun, kJobs);
  EXPECT_EQ(slow.trained, 0u);
  EXPECT_EQ(slow.awaited, 0u + 1 + 2 + 3);
  EXPECT_GE(time.training_s, slow.waited_s);
  EXPECT_LE(time.training_s, all_s);
}

TEST(Measure, LetsJobsJoin) {
  LessonTime time;
  Learning lesson;
  auto owned = std::make_unique<Slow>();
  const Slow& slow = *owned;
  lesson.trainer = std::move(owned);
  measure(lesson, time);
  std::vector<TrainJob> jobs(kJobs);
  EXPECT_TRUE(lesson.trainer->takes_early(kJobs));
  EXPECT_FALSE(lesson.trainer->takes_early(kJobs + 1));
  lesson.trainer->open(jobs);
  lesson.trainer->join(3);
  lesson.trainer->close();
  EXPECT_EQ(slow.begun, kJobs);
  EXPECT_EQ(slow.joined, 3u);
  EXPECT_EQ(slow.closed, 1u);
}

}  // namespace
}  // namespace tessera
