// What a person sees of a fleet: who is alive, slow or lost and why, from what members say.
#include "run/live_fleet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/files.h"
#include "run/live_fleet_text.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kNow = 1'794'854'977'000ms;

NodeStatus status_at(Round round) {
  NodeStatus status{.name = "someone",
                    .id = 77,
                    .state = "training",
                    .round = round,
                    .rounds = 100,
                    .seconds_left = 90,
                    .learning = {.evaluated_round = 1, .accuracy = 0.5, .loss = 2},
                    .refusals = {{"late", 3}},
                    .origin = {.version = "1.2.3", .time = kNow, .neighbours = {1, 3}}};
  status.links.refusals = {{"unknown-key", 4}};
  status.links.asked_at = Instant(100s);
  status.links.peers = {{.id = 3,
                         .name = "dave",
                         .condition = PeerCondition::kSilent,
                         .reason = "frozen?",
                         .last_heard = Instant(88s)}};
  status.links.peers[0].out.bytes = 2048;
  status.links.peers[0].in.bytes = 1024;
  return status;
}

FleetAnswer answer_of(NodeId id, const char* name, Result<std::string> report) {
  return {.member = {.id = id, .name = name, .address = "10.0.0.1:5555"},
          .report = std::move(report),
          .asked = kNow - 100ms,
          .answered = kNow + 100ms};
}

// Two at round 40, one that is slow, one that is lost.
std::vector<FleetNode> four() {
  return judge(std::vector{answer_of(0, "alice", to_json(status_at(40))),
                           answer_of(1, "bob", to_json(status_at(41))),
                           answer_of(2, "carol", to_json(status_at(10))),
                           answer_of(3, "dave", Error{"unreachable", "connection refused"})});
}

TEST(Fleet, AStatusComesBackFromItsJson) {
  const Result<NodeStatus> read = parse_status(to_json(status_at(12)));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_json(*read), to_json(status_at(12)));
}

TEST(Fleet, KnowsWhoIsAliveSlowOrLostAndWhy) {
  const std::vector<FleetNode> nodes = four();
  EXPECT_EQ(nodes[0].condition, FleetCondition::kAlive);
  EXPECT_EQ(nodes[0].why, "");
  EXPECT_EQ(nodes[2].condition, FleetCondition::kSlow);
  EXPECT_EQ(nodes[2].why, "behind: round 10, where half of the others have done 40");
  EXPECT_EQ(nodes[3].condition, FleetCondition::kLost);
  EXPECT_EQ(nodes[3].why, "connection refused; alice heard it 12 s ago");
}

// Names and ids come from the roster, whose key it was that answered.
TEST(Fleet, OneThatDialsOutIsHeardWhereOthersHearIt) {
  const auto nodes = [](PeerCondition condition) {
    NodeStatus alice = status_at(40);
    alice.links.peers[0].condition = condition;
    FleetAnswer dave = answer_of(3, "dave", Error{"dials-out", "it dials out"});
    dave.member.address = kDialsOut;
    return judge(std::vector{answer_of(0, "alice", to_json(alice)), dave});
  };
  const std::vector<FleetNode> heard = nodes(PeerCondition::kAlive);
  EXPECT_EQ(heard[1].condition, FleetCondition::kHeard);
  EXPECT_EQ(heard[1].why, "it dials out; alice heard it 12 s ago");
  EXPECT_NE(to_text(heard).find("2 nodes: 1 alive, 0 slow, 0 lost, 1 heard\n"), std::string::npos);
  EXPECT_TRUE(nodes(PeerCondition::kSilent)[1].lost());
}

TEST(Fleet, WhomANodeWaitsForHasAName) {
  const auto waiting = [](const char* text) {
    NodeStatus alice = status_at(40);
    alice.waiting_for = text;
    return judge(std::vector{answer_of(0, "alice", to_json(alice)),
                             answer_of(1, "bob", to_json(status_at(40))),
                             answer_of(3, "dave", Error{"unreachable", "connection refused"})})[0]
        .status.waiting_for;
  };
  EXPECT_EQ(waiting("round 7 from node 3"), "round 7 from dave");
  EXPECT_EQ(waiting("round 7 from nodes 1, 3"), "round 7 from bob, dave");
  for (const char* other :
       {"", "3 more members", "round 7 from node 9", "a from node", "b from nodes "})
    EXPECT_EQ(waiting(other), other);
}

TEST(Fleet, WhoAnswersIsNotWhatItSaysItIs) {
  EXPECT_EQ(four()[1].status.name, "bob");
  EXPECT_EQ(four()[1].status.id, 1u);
}

TEST(Fleet, AClockThatIsOffIsAnAlarm) {
  const auto alarms_at = [](std::chrono::milliseconds theirs) {
    NodeStatus status = status_at(40);
    status.origin.time = theirs;
    return judge(std::vector{answer_of(0, "alice", to_json(status))})[0].alarms;
  };
  EXPECT_TRUE(alarms_at(kNow).empty());
  EXPECT_TRUE(alarms_at(kNow + 1000ms).empty());
  EXPECT_TRUE(alarms_at(0ms).empty());
  ASSERT_EQ(alarms_at(kNow + 60'100ms).size(), 1u);
  EXPECT_EQ(alarms_at(kNow + 60'100ms)[0], "CLOCK: it is 1 min ahead of this machine's");
  EXPECT_EQ(alarms_at(kNow - 60'100ms)[0], "CLOCK: it is 1 min behind this machine's");
}

// Its nanoseconds are more than there are numbers for, as fuzzing found.
TEST(Fleet, AClockOfAnotherAgeIsAnAlarmToo) {
  for (const char* time : {"17948549977000", "900000000000000000"}) {
    const std::string report = fmt::format("{{\"time_ms\": {}}}", time);
    const FleetNode node = judge(std::vector{answer_of(0, "alice", report)})[0];
    ASSERT_EQ(node.alarms.size(), 1u);
    EXPECT_TRUE(node.alarms[0].starts_with("CLOCK: it is 876000 h ahead")) << node.alarms[0];
  }
}

TEST(Fleet, AnAnswerOfNoiseMakesAMemberLostAndNothingWorse) {
  const std::string good = to_json(status_at(40));
  for (const std::string& bad :
       {std::string(), std::string("[]"), std::string("null"), std::string(100'000, '['),
        good.substr(0, good.size() / 2), std::string("\xff\xfe")})
    EXPECT_FALSE(judge(std::vector{answer_of(0, "alice", bad)})[0].answered()) << bad.substr(0, 40);
  const std::string wrong =
      R"({"round": "many", "peers": [3, {"id": -1}], "alarms": {"a": 1}, "refusals": [1],
          "accuracy": "high", "seconds_left": [], "neighbours": ["x", -4], "time_ms": -5})";
  const FleetNode odd = judge(std::vector{answer_of(0, "alice", wrong)})[0];
  EXPECT_TRUE(odd.answered());
  EXPECT_EQ(odd.status.round, 0u);
  EXPECT_FALSE(odd.status.seconds_left);
}

// A terminal obeys what is written to it.
TEST(Fleet, ControlCharactersOfAMemberDoNotReachTheTerminal) {
  NodeStatus status = status_at(40);
  status.state = "\x1b[2Jgone";
  status.alarms = {"a\nb", std::string(5000, 'x')};
  const std::string text = to_text(judge(std::vector{answer_of(0, "alice", to_json(status))}));
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_NE(text.find("a?b"), text.npos);
  EXPECT_LT(text.size(), 1500u);
}

TEST(Fleet, IsATableWithARowANode) {
  const std::string text = to_text(four());
  EXPECT_NE(
      text.find("alice          alive      40 of 100    50.00%      2 KiB      1 KiB        7 "
                "   1.2.3   1.5 min  training\n"),
      text.npos)
      << text;
  EXPECT_NE(text.find("  connection refused; alice heard it 12 s ago\n"), text.npos) << text;
  EXPECT_NE(text.find("4 nodes: 2 alive, 1 slow, 1 lost\n"), text.npos) << text;
}

TEST(Fleet, TheSameAsJson) {
  const auto json = nlohmann::json::parse(to_json(four()));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[0]["name"], "alice");
  EXPECT_EQ(json[0]["round"], 40);
  EXPECT_EQ(json[0]["refusals"], 7);
  EXPECT_EQ(json[0]["links"][0]["is"], "silent");
  EXPECT_EQ(json[3]["is"], "lost");
  EXPECT_FALSE(json[3].contains("round"));
}

TEST(Fleet, PrometheusHearsOfEveryFamilyOnce) {
  const std::string text = to_prometheus(four());
  EXPECT_NE(text.find("tessera_up{node=\"alice\"} 1\n"), text.npos);
  EXPECT_NE(text.find("tessera_up{node=\"dave\"} 0\n"), text.npos);
  EXPECT_NE(text.find("tessera_rounds_done{node=\"carol\"} 10\n"), text.npos);
  EXPECT_EQ(text.find("tessera_rounds_done{node=\"dave\"}"), text.npos);
  std::istringstream lines(text);
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    const bool sample = !line.starts_with('#');
    const std::string key = sample ? line.substr(0, line.rfind(' ')) : line;
    EXPECT_TRUE(seen.insert(key).second) << line;
  }
}

// A panel of a metric that there is not would stay empty without a word.
TEST(Fleet, TheDashboardShowsMetricsThatThereAre) {
  const std::string dashboard =
      *read_text_file(std::filesystem::path(TESSERA_SOURCE_DIR) / "deploy" / "grafana.json");
  ASSERT_TRUE(nlohmann::json::accept(dashboard));
  const std::string exported = to_prometheus(four());
  const std::regex name("tessera_[a-z_]+");
  std::size_t names = 0;
  for (std::sregex_iterator found(dashboard.begin(), dashboard.end(), name), end; found != end;
       ++found, ++names)
    EXPECT_NE(exported.find("# TYPE " + found->str() + " "), exported.npos) << found->str();
  EXPECT_GT(names, 10u);
}

}  // namespace
}  // namespace tessera
