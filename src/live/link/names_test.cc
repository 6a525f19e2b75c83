// Names and what they stand for. The name server is a function of the test's.
#include "live/link/names.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "live/link/testing.h"

namespace tessera {
namespace {

TEST(Names, AnAddressIsAHostAndAPort) {
  EXPECT_EQ(split_address("a.example:5555").host, "a.example");
  EXPECT_EQ(split_address("[fd00::2]:5555").host, "[fd00::2]");
  EXPECT_EQ(split_address("[fd00::2]:5555").port, "5555");
  for (const char* numbers : {"10.0.0.1", "[::1]"}) EXPECT_TRUE(is_numeric(numbers)) << numbers;
  for (const char* name : {"localhost", "a.example", "10.0.0"}) EXPECT_FALSE(is_numeric(name));
}

TEST(Names, TheSystemKnowsThisMachine) {
  const Result<NumericHosts> here = look_up_host("localhost");
  ASSERT_TRUE(here.ok()) << here.error().message;
  for (const std::string& host : *here) EXPECT_TRUE(is_numeric(host)) << host;
  EXPECT_EQ(look_up_host("127.0.0.1")->front(), "127.0.0.1");
  EXPECT_EQ(look_up_host("::1")->front(), "[::1]");
  EXPECT_EQ(look_up_host("not a name").error().kind, "name");
}

// "dead" is never answered: "quick" is, and whoever goes does not wait for "dead".
TEST(Names, ANameThatIsNotAnsweredKeepsNobodyWaiting) {
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  const auto asked = std::make_shared<std::atomic<int>>(0);
  std::vector<Names::Found> found;
  {
    Names names(
        [answered, asked](const std::string& host) -> Result<NumericHosts> {
          ++*asked;
          if (host == "dead") answered.wait();
          return NumericHosts{"10.0.0.1"};
        },
        [] {});
    for (int i = 0; i < 10; ++i) names.ask("dead");
    names.ask("quick");
    ASSERT_TRUE(await([&] {
      for (Names::Found& one : names.take_found()) found.push_back(std::move(one));
      return !found.empty() && *asked == 2;
    }));
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].host, "quick");
  EXPECT_EQ(found[0].addresses->front(), "10.0.0.1");
  answer.set_value();
}

}  // namespace
}  // namespace tessera
