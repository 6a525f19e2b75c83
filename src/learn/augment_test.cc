#include "learn/augment.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <stdexcept>

#include "learn/testing.h"
#include "learn/testing_world.h"

namespace tessera {
namespace {

// A 3x3 image of two channels whose numbers tell where they were: 1 + place, and 10 more.
Vector numbered() {
  Vector image;
  for (int i = 0; i < 18; ++i) image.push_back(static_cast<float>(i < 9 ? 1 + i : 2 + i));
  return image;
}

TEST(Augment, IsACropOfThePaddedImageFlippedEveryOtherTime) {
  const Task task = testing::images(2, 3, 2);
  Augment augment({.flip = true, .crop = 1}, task);
  Random random(1);
  std::set<Vector> seen;
  for (int i = 0; i < 1000; ++i) {
    Vector image = numbered();
    augment.apply(image, random);
    // Both channels are cut and flipped alike.
    for (std::size_t at = 0; at < 9; ++at)
      EXPECT_EQ(image[at + 9], image[at] == 0 ? 0 : image[at] + 10);
    seen.insert(image);
  }
  EXPECT_EQ(seen.size(), 9u * 2);
  EXPECT_TRUE(seen.contains(numbered()));
  // Moved up and left by one, and the same from right to left.
  const Vector moved = {5, 6, 0, 8, 9, 0, 0, 0, 0, 15, 16, 0, 18, 19, 0, 0, 0, 0};
  const Vector flipped = {0, 6, 5, 0, 9, 8, 0, 0, 0, 0, 16, 15, 0, 19, 18, 0, 0, 0};
  EXPECT_TRUE(seen.contains(moved));
  EXPECT_TRUE(seen.contains(flipped));
}

TEST(Augment, WantsImagesLargeEnough) {
  const Task images = testing::images(1, 8, 2);
  require_images_to_augment({}, testing::tokens(5, 11));
  require_images_to_augment({.flip = true, .crop = 7}, images);
  EXPECT_THROW(require_images_to_augment({.crop = 8}, images), std::invalid_argument);
  EXPECT_THROW(require_images_to_augment({.flip = true}, testing::tokens(5, 11)),
               std::invalid_argument);
  testing::LearningWorld world(testing::ratings(7, 9));
  EXPECT_THROW(world.learning("matrix-factorization", "sgd:crop=2", "cpu"), std::invalid_argument);
}

TEST(Augment, TrainsToTheSameBitsForAnyNumberOfThreads) {
  const testing::Case c = testing::small_cases()[0];
  const char* const line = "sgd:lr=0.05,batch=4,steps=3,flip=yes,crop=2";
  testing::LearningWorld one(c.task), three(c.task), plain(c.task);
  one.run(*one.learning(c.spec, line, "cpu", 1).trainer, 2);
  three.run(*three.learning(c.spec, line, "cpu", 3).trainer, 2);
  plain.run(*plain.learning(c.spec, "sgd:lr=0.05,batch=4,steps=3", "cpu", 1).trainer, 2);
  EXPECT_EQ(one.models, three.models);
  EXPECT_NE(one.models, plain.models);
}

// Images that look the same from both sides: which samples are drawn does not depend on flips.
class Symmetric final : public Dataset {
 public:
  explicit Symmetric(std::shared_ptr<const Dataset> of) : of_(std::move(of)) {}
  std::size_t size() const override { return of_->size(); }
  float get(std::size_t index, std::span<float> features) const override {
    const float target = of_->get(index, features);
    for (std::size_t row = 0; row + kSide <= features.size(); row += kSide)
      for (std::size_t x = 0; x < kSide / 2; ++x) features[row + kSide - 1 - x] = features[row + x];
    return target;
  }
  static constexpr std::size_t kSide = 8;

 private:
  std::shared_ptr<const Dataset> of_;
};

TEST(Augment, DrawsTheSameSamplesWithAndWithout) {
  testing::LearningWorld plain(testing::images(1, Symmetric::kSide, 3));
  plain.data.train = std::make_shared<Symmetric>(plain.data.train);
  testing::LearningWorld flipped = plain;
  plain.run(*plain.learning("logistic", "sgd:batch=4,steps=5", "cpu").trainer, 2);
  flipped.run(*flipped.learning("logistic", "sgd:batch=4,steps=5,flip=yes", "cpu").trainer, 2);
  EXPECT_EQ(plain.models, flipped.models);
}

}  // namespace
}  // namespace tessera
