// The optimizers beside LibTorch's own, which state the same formulas.
#include "learn/optimizer.h"

#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "learn/testing.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

using torch::optim::Optimizer;

std::unique_ptr<Optimizer> torchs(const TrainingOptions& training, const torch::Tensor& leaf) {
  const double lr = double{training.lr}, decay = double{training.weight_decay};
  const auto betas = std::make_tuple(training.adam.beta1, training.adam.beta2);
  switch (training.optimizer) {
    case OptimizerName::kSgd:
      return std::make_unique<torch::optim::SGD>(std::vector{leaf},
                                                 torch::optim::SGDOptions(lr)
                                                     .momentum(double{training.momentum})
                                                     .nesterov(training.nesterov)
                                                     .weight_decay(decay));
    case OptimizerName::kAdam:
      return std::make_unique<torch::optim::Adam>(std::vector{leaf}, torch::optim::AdamOptions(lr)
                                                                         .betas(betas)
                                                                         .eps(training.adam.epsilon)
                                                                         .weight_decay(decay));
    case OptimizerName::kAdamW:
      break;
  }
  return std::make_unique<torch::optim::AdamW>(
      std::vector{leaf},
      torch::optim::AdamWOptions(lr).betas(betas).eps(training.adam.epsilon).weight_decay(decay));
}

// Twenty steps on a parameter of 50 numbers, with StepLR and clip_grad_norm_ where they are asked.
void expect_same_steps(const char* line) {
  const TrainingOptions training = parse_training(line);
  Vector ours = testing::normals(50, Random(1));
  torch::Tensor theirs = view_of(ours).clone().requires_grad_();
  const auto optimizer = torchs(training, theirs);
  torch::optim::StepLR scheduler(*optimizer, static_cast<unsigned>(training.schedule.every),
                                 training.schedule.factor);
  OptimizerState state;
  state.fit(training, ours.size());
  for (std::uint64_t step = 0; step < 20; ++step, ++state.steps) {
    const Vector gradient = testing::normals(50, Random(2).fork("step", step));
    const float scale = training.clip > 0 ? clip_scale(training.clip, gradient) : 1;
    OptimizerStep(training, state.steps, scale).apply(ours, gradient, state.moments(0, 50));
    // LibTorch's counts its calls from 0: it is told before a step what Python's is told after one.
    if (!training.schedule.constant()) scheduler.step();
    theirs.mutable_grad() = view_of(gradient).clone();
    if (training.clip > 0) torch::nn::utils::clip_grad_norm_({theirs}, double{training.clip});
    optimizer->step();
  }
  Vector expected(50);
  copy_to(theirs, expected);
  EXPECT_LT(testing::relative_gap(ours, expected), 2e-6) << line;
}

TEST(Optimizer, EqualsTorchs) {
  for (const char* line :
       {"sgd:lr=0.3", "sgd:lr=0.3,momentum=0.9", "sgd:lr=0.3,weight_decay=0.1",
        "sgd:lr=0.3,momentum=0.9,weight_decay=0.1", "sgd:lr=0.3,momentum=0.9,nesterov=yes",
        "sgd:lr=0.3,momentum=0.9,nesterov=yes,weight_decay=0.1", "sgd:lr=0.3,clip=1",
        "sgd:lr=0.3,momentum=0.9,schedule=step,every=3,factor=0.5", "adam", "adam:lr=0.1",
        "adam:lr=0.1,beta1=0.8,beta2=0.9,epsilon=0.001,weight_decay=0.1", "adamw:lr=0.1",
        "adamw:lr=0.1,weight_decay=0.3,clip=1,schedule=step,every=7,factor=0.1"})
    expect_same_steps(line);
}

}  // namespace
}  // namespace tessera
