// Lines of a live node's log, for people and for programs.
#include "live/log_line.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tessera {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kTime = 1'794'854'977'123ms;

NodeStatus far_enough() {
  NodeStatus status{.round = 12, .rounds = 100, .seconds_left = 90.4};
  status.learning = {.evaluated_round = 10, .accuracy = 0.8125};
  status.links.peers = {{.name = "bob", .condition = PeerCondition::kAlive},
                        {.name = "carol", .condition = PeerCondition::kLost}};
  status.links.peers[0].out.bytes = 2048;
  status.links.peers[1].in.bytes = 512;
  return status;
}

TEST(LogLine, HasTheTimeOfDayAndALevel) {
  const LogLine line{.time = kTime, .level = LogLevel::kWarning, .text = "bob is lost: no answer"};
  EXPECT_EQ(show(line, LogForm::kText),
            "2026-11-16T18:49:37.123Z warning bob is lost: no answer\n");
}

TEST(LogLine, IsOneLineWhateverIsSaid) {
  const LogLine line{.time = 7ms, .text = "one\ntwo"};
  EXPECT_EQ(show(line, LogForm::kText), "1970-01-01T00:00:00.007Z info    one two\n");
}

TEST(LogLine, SaysTheSameAsJson) {
  const LogLine line{.time = kTime, .level = LogLevel::kError, .node = "al\"ice", .text = "a\nb"};
  const std::string text = show(line, LogForm::kJson);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.size(), 4u);
  EXPECT_EQ(json["time"], "2026-11-16T18:49:37.123Z");
  EXPECT_EQ(json["level"], "error");
  EXPECT_EQ(json["node"], "al\"ice");
  EXPECT_EQ(json["message"], "a\nb");
}

// A peer's words reach the log; they need not be UTF-8.
TEST(LogLine, BytesThatAreNoTextAreReplaced) {
  const std::string text = show({.text = "we differ in \xff\xfe"}, LogForm::kJson);
  EXPECT_TRUE(nlohmann::json::accept(text)) << text;
}

TEST(LogLine, ProgressIsALineOfFigures) {
  const ProgressFigures figures = progress_of(far_enough());
  EXPECT_EQ(to_text(figures),
            "round 12 of 100, accuracy 81.2%, 2 KiB out, 512 B in, 1 of 2 peers alive, about "
            "1.5 min left");
  const auto json =
      nlohmann::json::parse(show({.text = to_text(figures), .progress = figures}, LogForm::kJson));
  EXPECT_EQ(json["round"], 12);
  EXPECT_EQ(json["rounds"], 100);
  EXPECT_EQ(json["accuracy"], 0.8125);
  EXPECT_EQ(json["bytes_out"], 2048);
  EXPECT_EQ(json["bytes_in"], 512);
  EXPECT_EQ(json["peers_alive"], 1);
  EXPECT_EQ(json["peers"], 2);
  EXPECT_EQ(json["seconds_left"], 90.4);
  EXPECT_EQ(json["waiting_for"], "");
}

TEST(LogLine, WhatIsNotKnownIsLeftOutOrNull) {
  NodeStatus status = far_enough();
  status.learning.accuracy = std::numeric_limits<double>::quiet_NaN();
  status.seconds_left.reset();
  status.rounds = 0;
  status.waiting_for = "round 12 from nodes 3, 7";
  const ProgressFigures figures = progress_of(status);
  EXPECT_EQ(to_text(figures),
            "round 12, 2 KiB out, 512 B in, 1 of 2 peers alive; waiting for round 12 from nodes "
            "3, 7");
  const auto json = nlohmann::json::parse(show({.text = "", .progress = figures}, LogForm::kJson));
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_TRUE(json["seconds_left"].is_null());
}

TEST(LogLine, OtherFormsAreRefused) {
  EXPECT_EQ(parse_log_form("json"), LogForm::kJson);
  EXPECT_THROW(parse_log_form("xml"), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
