#include "learn/relays.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Doubles a model when it is awaited.
class Doubling final : public Trainer {
 public:
  std::size_t dimension() const override { return 1; }
  Vector initial_model() const override { return {1}; }
  void train(std::span<TrainJob>) override { FAIL(); }
  void begin(std::span<TrainJob> cohort) override { cohort_ = cohort; }
  void await(std::size_t job) override {
    cohort_[job].model[0] *= 2;
    cohort_[job].loss = static_cast<float>(cohort_[job].node);
  }

 private:
  std::span<TrainJob> cohort_{};
};

TEST(Relays, KeepTheirModelsWhileTheOthersAreAwaited) {
  Learning learning{.partition = {.train = {{}, {0}, {}, {1}}},
                    .trainer = std::make_unique<Doubling>()};
  leave_out_relays(learning, std::nullopt);
  std::vector<Vector> models(4, Vector{1});
  std::vector<TrainJob> cohort;
  for (const NodeId node : {0u, 1u, 2u, 3u}) cohort.push_back({node, models[node], Random(1)});
  learning.trainer->begin(cohort);
  for (const std::size_t job : {3u, 0u}) learning.trainer->await(job);
  EXPECT_EQ(models, (std::vector<Vector>{{1}, {1}, {1}, {2}}));
  EXPECT_EQ(cohort[3].loss, 3);
  for (const std::size_t job : {1u, 2u}) learning.trainer->await(job);
  EXPECT_EQ(models, (std::vector<Vector>{{1}, {2}, {1}, {2}}));
  learning.trainer->train(cohort);
  EXPECT_EQ(models, (std::vector<Vector>{{1}, {4}, {1}, {4}}));
}

}  // namespace
}  // namespace tessera
