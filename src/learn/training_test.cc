#include "learn/training.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera {
namespace {

std::string refusal(const TrainingOptions& training) {
  try {
    require_plain_sgd(training, "device=cuda", "use device=cpu");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(ParseTraining, ReadsWhatThePapersUse) {
  const TrainingOptions training = parse_training("sgd:lr=0.05,batch=16,steps=128");
  EXPECT_FLOAT_EQ(training.lr, 0.05f);
  EXPECT_EQ(training.batch, 16u);
  EXPECT_EQ(training.steps, 128u);
  EXPECT_EQ(training.momentum, 0);
  EXPECT_EQ(training.weight_decay, 0);
  EXPECT_EQ(training.moments(), 0u);
  EXPECT_FALSE(training.counts_steps());
}

TEST(ParseTraining, TakesTorchsDefaults) {
  const TrainingOptions adam = parse_training("adam"), adamw = parse_training("adamw");
  EXPECT_FLOAT_EQ(adam.lr, 0.001f);
  EXPECT_EQ(adam.adam.beta1, 0.9);
  EXPECT_EQ(adam.adam.beta2, 0.999);
  EXPECT_EQ(adam.adam.epsilon, 1e-8);
  EXPECT_EQ(adam.weight_decay, 0);
  EXPECT_FLOAT_EQ(adamw.weight_decay, 0.01f);
  EXPECT_EQ(adamw.moments(), 2u);
  EXPECT_TRUE(adamw.counts_steps());
}

TEST(ParseTraining, ReadsEveryRowsUsage) {
  for (const TrainingKind& kind : trainings()) {
    std::string usage(kind.usage);
    usage.replace(usage.find("…"), std::string("…").size(), "1");
    EXPECT_EQ(parse_training(usage).optimizer, kind.optimizer);
    for (const RateScheduleKind& schedule : rate_schedules()) {
      std::string line(schedule.usage);
      if (const std::size_t at = line.find("…"); at != line.npos)
        line.replace(at, std::string("…").size(), "1000");
      EXPECT_EQ(parse_training(usage + "," + line).schedule.kind, &schedule) << line;
    }
  }
}

TEST(ParseTraining, RefusesWhatCannotBe) {
  for (const char* spec :
       {"adagrad", "sgd:lr=0", "sgd:batch=0", "sgd:steps=-1", "sgd:momentum=2",
        "sgd:learning_rate=0.1", "sgd:weight_decay=-1", "sgd:nesterov=yes", "sgd:beta1=0.9",
        "adam:momentum=0.9", "adam:beta2=1", "adam:epsilon=0", "sgd:clip=0", "sgd:schedule=sine",
        "sgd:schedule=cosine,length=100,warmup=100", "sgd:schedule=step,length=10",
        "sgd:schedule=cosine,every=10", "sgd:lr=0.1,schedule=linear,lr_min=0.2", "sgd:length=9"})
    EXPECT_THROW(parse_training(spec), std::invalid_argument) << spec;
}

TEST(RequirePlainSgd, NamesTheOptionThePlaceAndTheRemedy) {
  EXPECT_EQ(refusal(parse_training("sgd:momentum=0.9,weight_decay=0.1")), "");
  EXPECT_EQ(refusal(parse_training("adam")), "training: device=cuda knows no adam: use device=cpu");
  EXPECT_EQ(refusal(parse_training("sgd:momentum=0.9,nesterov=yes")),
            "training: device=cuda knows no nesterov=yes: use device=cpu");
  EXPECT_EQ(refusal(parse_training("sgd:clip=0.5")),
            "training: device=cuda knows no clip=0.5: use device=cpu");
  EXPECT_EQ(refusal(parse_training("sgd:crop=4")),
            "training: device=cuda knows no crop=4: use device=cpu");
  EXPECT_EQ(refusal(parse_training("sgd:warmup=9")),
            "training: device=cuda knows no warmup=9: use device=cpu");
  EXPECT_EQ(refusal(parse_training("sgd:schedule=cosine")),
            "training: device=cuda knows no schedule=cosine: use device=cpu");
}

// 10 samples, batches of 4, 7 steps: passes of 4 + 4 + 2, each a shuffle of all ten.
TEST(DrawMinibatches, TakesEverySampleOncePerPass) {
  Random random(3);
  const auto steps = draw_minibatches(10, {.batch = 4, .steps = 7}, random);
  ASSERT_EQ(steps.size(), 7u);
  const std::size_t sizes[] = {4, 4, 2, 4, 4, 2, 4};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(steps[i].size(), sizes[i]);
  for (const std::size_t first : {0u, 3u}) {
    std::set<std::uint32_t> seen;
    for (std::size_t i = first; i < first + 3; ++i) seen.insert(steps[i].begin(), steps[i].end());
    EXPECT_EQ(seen.size(), 10u);
    EXPECT_LT(*seen.rbegin(), 10u);
  }
  EXPECT_NE(steps[0], steps[3]);  // Shuffled anew; equal once in 5,040 seeds.
}

TEST(DrawMinibatches, FitsNodesWithLessThanABatch) {
  Random random(3);
  const auto steps = draw_minibatches(3, {.batch = 8, .steps = 2}, random);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].size(), 3u);
  EXPECT_EQ(steps[1].size(), 3u);
}

}  // namespace
}  // namespace tessera
