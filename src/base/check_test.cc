#include "base/check.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace tessera {
namespace {

TEST(Check, PrintsConditionAndBothValues) {
  const int sent = 3, heard = 4;
  EXPECT_DEATH(CHECK(sent == heard), "CHECK failed: sent == heard \\(3 == 4\\)");
  EXPECT_DEATH(CHECK(heard < sent), "4 < 3");
}

TEST(Check, PassesQuietly) {
  CHECK(1 + 1 == 2);
  const bool fine = true;
  CHECK(fine);
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 7;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  const Result<int> bad = Error{"short", "3 bytes are missing"};
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, "short");
}

TEST(Result, TakingTheValueOfAnErrorIsOurBug) {
  const Result<int> bad = Error{"short", "3 bytes are missing"};
  EXPECT_DEATH((void)*bad, "3 bytes are missing");
}

}  // namespace
}  // namespace tessera
