#include "cli/flags.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Flags, SaysWhatIsWrongWithAFlagsWholeNumber) {
  EXPECT_EQ(whole_number_fault("3", at_least(1)), "");
  EXPECT_EQ(whole_number_fault("0", at_least(1)), "0 must be a whole number, at least 1");
  EXPECT_EQ(whole_number_fault("x", at_least(1)),
            "'x' is not a whole number; it must be at least 1");
  EXPECT_EQ(
      whole_number_fault("99999999999999999999", at_least(1)),
      "'99999999999999999999' is not a whole number of at most 64 bits; it must be at least 1");
}

}  // namespace
}  // namespace tessera
