#include "learn/sgd.h"

#include <gtest/gtest.h>

#include "learn/testing.h"
#include "torch/tensors.h"

namespace tessera {
namespace {

// Three steps of each variant against torch::optim::SGD, which states the same formulas.
TEST(ApplySgd, EqualsTorchsOptimizer) {
  struct Variant {
    float momentum, weight_decay;
  };
  for (const Variant v : {Variant{0, 0}, Variant{0.9f, 0}, Variant{0, 0.1f}, Variant{0.9f, 0.1f}}) {
    const SgdOptions sgd{.lr = 0.3f, .momentum = v.momentum, .weight_decay = v.weight_decay};
    Vector ours = testing::normals(50, Random(1));
    Vector velocity(v.momentum != 0 ? 50 : 0, 0.0f);
    torch::Tensor theirs = view_of(ours).clone().requires_grad_();
    torch::optim::SGD optimizer({theirs}, torch::optim::SGDOptions(double{sgd.lr})
                                              .momentum(double{v.momentum})
                                              .weight_decay(double{v.weight_decay}));
    for (std::uint64_t step = 0; step < 3; ++step) {
      const Vector gradient = testing::normals(50, Random(2).fork("step", step));
      apply_sgd(sgd, ours, gradient, velocity);
      theirs.mutable_grad() = view_of(gradient).clone();
      optimizer.step();
    }
    Vector expected(50);
    copy_to(theirs, expected);
    EXPECT_LT(testing::relative_gap(ours, expected), 1e-6) << v.momentum << " " << v.weight_decay;
  }
}

}  // namespace
}  // namespace tessera
