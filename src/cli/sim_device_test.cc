// A device that fails in the middle of a simulation: what was saved stays, and goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/files.h"
#include "cli/failure.h"
#include "cli/sim_run.h"
#include "node/device_failed.h"
#include "node/trainer.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSick = "device: GPU 0 failed at waiting for it: unspecified launch failure";

class Sickens final : public Trainer {
 public:
  Sickens(std::unique_ptr<Trainer> trainer, int after)
      : trainer_(std::move(trainer)), left_(after) {}
  std::size_t dimension() const override { return trainer_->dimension(); }
  Vector initial_model() const override { return trainer_->initial_model(); }
  void train(std::span<TrainJob> cohort) override {
    if (left_-- == 0) throw DeviceFailed(kSick);
    trainer_->train(cohort);
  }

 private:
  std::unique_ptr<Trainer> trainer_;
  int left_;
};

class SimDevice : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(root_), fs::create_directories(root_); }
  void TearDown() override { fs::remove_all(root_); }

  // How it says that it failed when its device trains so many cohorts; an empty text when it did
  // not.
  Failure run_with_cohorts(int after, SimOptions options) const {
    return run_with_cohorts(after, std::move(options), experiment_);
  }
  Failure run_with_cohorts(int after, SimOptions options, const Experiment& experiment) const {
    options.make_lesson = [after](const Plan& plan, unsigned threads) {
      Learning lesson = make_lesson(plan, threads);
      lesson.trainer = std::make_unique<Sickens>(std::move(lesson.trainer), after);
      return lesson;
    };
    try {
      simulate(experiment, root_ / "run", options);
    } catch (const std::exception&) {
      return failure_of(std::current_exception());
    }
    return {.code = 0};
  }
  std::string digest(const char* run) const {
    return nlohmann::json::parse(*read_text_file(root_ / run / "summary.json"))["model_digest"]
        .get<std::string>();
  }
  std::string metrics(const char* run) const {
    return *read_text_file(root_ / run / "metrics.jsonl");
  }

  const Experiment experiment_{.nodes = "5",
                               .model = "quadratic:dimension=50",
                               .topology = "ring",
                               .protocol = "dpsgd:rounds=12",
                               .sharing = "jwins",
                               .evaluate = "every=1"};
  const SimOptions options_{.checkpoint_every = parse_checkpoint_every("3"),
                            .threads = 1,
                            .quiet = true,
                            .command = "tessera sim toy.toml --overwrite --out=runs/toy"};
  const fs::path root_ =
      fs::path(testing::TempDir()) / fmt::format("tessera_sim_device_{}", ::getpid());
};

TEST_F(SimDevice, AFailureSaysHowTheRunGoesOnAndItDoes) {
  simulate(experiment_, root_ / "whole", options_);
  const Failure failure = run_with_cohorts(8, options_);
  EXPECT_EQ(failure.code, 1);
  EXPECT_EQ(failure.text, fmt::format("{}; the run can go on after round 6: tessera sim toy.toml "
                                      "--out=runs/toy --resume",
                                      kSick));
  EXPECT_FALSE(fs::exists(root_ / "run" / "summary.json"));
  SimOptions again = options_;
  again.existing = ExistingRun::kResume;
  again.command = "tessera sim toy.toml --resume --out=runs/toy";
  // It fails once more, and the command that resumed it is the one to give again.
  EXPECT_EQ(run_with_cohorts(4, again).text,
            fmt::format("{}; the run can go on after round 9: {}", kSick, again.command));
  EXPECT_EQ(run_with_cohorts(1000, again).code, 0);
  EXPECT_EQ(digest("run"), digest("whole"));
  EXPECT_EQ(metrics("run"), metrics("whole"));
}

TEST_F(SimDevice, ARunGoesOnElsewhereOnItsDevice) {
  simulate(experiment_, root_ / "whole", options_);
  EXPECT_EQ(run_with_cohorts(8, options_).code, 1);
  SimOptions again = options_;
  again.existing = ExistingRun::kResume;
  Experiment elsewhere = experiment_;
  elsewhere.device = "cpu:chunk=2";
  EXPECT_EQ(run_with_cohorts(1000, again, elsewhere).code, 0);
  EXPECT_EQ(digest("run"), digest("whole"));
  EXPECT_EQ(metrics("run"), metrics("whole"));
  // It is over, wherever one asks from.
  EXPECT_EQ(run_with_cohorts(0, again).code, 0);
}

TEST_F(SimDevice, AFailureBeforeTheFirstCheckpointSaysToBeginAnew) {
  EXPECT_EQ(run_with_cohorts(2, options_).text,
            fmt::format("{}; there was no checkpoint yet: begin anew with --overwrite", kSick));
}

}  // namespace
}  // namespace tessera
