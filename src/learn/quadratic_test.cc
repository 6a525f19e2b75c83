#include "learn/quadratic.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TrainJob job_for(NodeId node, Vector& model) {
  return {.node = node, .model = model, .random = Random(5).fork("node", node)};
}

// Alone, a node ends at its own target: the loss falls to the noise.
TEST(Quadratic, ALonelyNodeLearnsItsTarget) {
  Quadratic trainer({.nodes = 1, .dimension = 50, .noise = 0.0f, .steps = 100});
  Vector model = trainer.initial_model();
  TrainJob job = job_for(0, model);
  trainer.train(std::span(&job, 1));
  EXPECT_LT(trainer.distance_to_optimum(model), 1e-4);  // 0.9^100 of the way is left.
}

TEST(Quadratic, WhoTrainsBesideDoesNotMatter) {
  Quadratic trainer({.nodes = 3});
  Vector together[2] = {trainer.initial_model(), trainer.initial_model()};
  TrainJob cohort[2] = {job_for(2, together[0]), job_for(1, together[1])};
  trainer.train(cohort);
  Vector alone = trainer.initial_model();
  TrainJob job = job_for(1, alone);
  trainer.train(std::span(&job, 1));
  EXPECT_EQ(alone, together[1]);
  EXPECT_EQ(job.loss, cohort[1].loss);
  EXPECT_NE(alone, together[0]);
}

}  // namespace
}  // namespace tessera
