// The figures of a fleet's page, which whoever looks gets without waiting.
#include "run/live_fleet_feed.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "live/link/testing.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

std::vector<FleetAnswer> a_hundred(Round round) {
  std::vector<FleetAnswer> answers;
  for (NodeId id = 0; id < 100; ++id) {
    NodeStatus status{.state = "training", .round = round, .rounds = 1000};
    for (NodeId peer = 0; peer < 100; ++peer)
      if (peer != id)
        status.links.peers.push_back({.id = peer, .name = "n" + std::to_string(peer)});
    status.origin.neighbours = {(id + 99) % 100, (id + 1) % 100};
    answers.push_back({.member = {.id = id, .name = "n" + std::to_string(id)},
                       .report = to_json(status),
                       .asked = {},
                       .answered = {}});
  }
  return answers;
}

Json await_nodes(const FleetFeed& feed) {
  Json json;
  EXPECT_TRUE(await([&] {
    json = Json::parse(feed.figures(true));
    return !json["nodes"].empty();
  }));
  return json;
}

TEST(FleetFeed, BeforeAnyAnswerThereIsAFleetOfNobody) {
  std::mutex asking;
  std::unique_lock held(asking);
  FleetFeed feed("fleet \"one\"", [&](Duration) {
    const std::lock_guard wait(asking);
    return std::vector<FleetAnswer>();
  });
  const Json json = Json::parse(feed.figures(true));
  EXPECT_EQ(json["title"], "fleet \"one\"");
  EXPECT_EQ(json["live"], true);
  EXPECT_TRUE(json["nodes"].empty());
  EXPECT_EQ(Json::parse(feed.figures(false))["live"], false);
  held.unlock();
}

// Links to those who are no neighbours are left out: they grow with the square of the fleet.
TEST(FleetFeed, AHundredNodesAreALittleText) {
  FleetFeed feed("fleet", [](Duration) { return a_hundred(7); });
  const Json json = await_nodes(feed);
  ASSERT_EQ(json["nodes"].size(), 100u);
  EXPECT_EQ(json["nodes"][99]["round"], 7);
  EXPECT_EQ(json["nodes"][99]["links"].size(), 2u);
  EXPECT_LT(feed.figures(true).size(), 60'000u);
  EXPECT_NE(feed.metrics().find("tessera_up{node=\"n42\"} 1\n"), std::string::npos);
}

}  // namespace
}  // namespace tessera
