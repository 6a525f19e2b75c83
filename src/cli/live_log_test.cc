// What live nodes write to their logs, as whole processes.
#include <regex>
#include <sstream>

#include "cli/process_for_tests.h"

namespace tessera {
namespace {

class LiveLog : public SimProcess {
 protected:
  std::vector<std::string> lines_of(const std::string& log) const {
    std::istringstream text(*read_text_file(root_ / log));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  int launch(const std::string& flags) const {
    return tessera(
        "launch --processes=3 --model=quadratic:dimension=1000 --topology=ring "
        "--protocol=dpsgd:rounds=30 --evaluate=every=10 --quiet --out=" +
        out("live") + " " + flags);
  }
};

TEST_F(LiveLog, EveryLineHasTheTimeOfDayAndALevel) {
  ASSERT_EQ(launch(""), 0) << said("err");
  const std::regex form(
      "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z (info   |warning|error  ) "
      "[^ ].*");
  for (const char* log : {"live/logs/n00.log", "live/logs/n01.log", "live/logs/n02.log"}) {
    const std::vector<std::string> lines = lines_of(log);
    ASSERT_GE(lines.size(), 4u) << log;
    for (const std::string& line : lines) EXPECT_TRUE(std::regex_match(line, form)) << line;
    EXPECT_NE(lines.back().find("info    done"), std::string::npos) << lines.back();
  }
}

TEST_F(LiveLog, AsJsonEveryLineIsAnObject) {
  ASSERT_EQ(launch("--log=json"), 0) << said("err");
  for (const std::string& line : lines_of("live/logs/n01.log")) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    ASSERT_TRUE(json.is_object()) << line;
    EXPECT_EQ(json["node"], "n01");
    for (const char* key : {"time", "level", "message"}) EXPECT_TRUE(json.contains(key)) << line;
  }
}

TEST_F(LiveLog, WhereToWatchIsALineOfItToo) {
  ASSERT_EQ(
      shell("cd $root && $tessera keygen alice > out && $tessera roster add r.toml alice "
            "127.0.0.1:20997 alice.pub > out && printf 'nodes = 1\\nmodel = \"quadratic\"\\n"
            "topology = \"full\"\\nprotocol = \"dpsgd:rounds=3\"\\n' > e.toml && $tessera node "
            "--name=alice --key=alice.key --roster=r.toml --experiment=e.toml --log=json "
            "--watch 2> err"),
      0)
      << said("err");
  const std::vector<std::string> lines = lines_of("err");
  ASSERT_GE(lines.size(), 3u) << said("err");
  for (const std::string& line : lines) EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  EXPECT_NE(lines[0].find("watch it at http://127.0.0.1:"), std::string::npos) << lines[0];
}

TEST_F(LiveLog, WhatEndsANodeIsALineOfItToo) {
  ASSERT_EQ(shell("cd $root && $tessera keygen alice > out && $tessera roster add r.toml alice "
                  "127.0.0.1:20999 alice.pub > out"),
            0);
  EXPECT_EQ(
      tessera(fmt::format("node --name=bob --key={0}/alice.key --roster={0}/r.toml --log=json",
                          root_.string())),
      2);
  const auto json = nlohmann::json::parse(said("err"), nullptr, false);
  ASSERT_TRUE(json.is_object()) << said("err");
  EXPECT_EQ(json["level"], "error");
  EXPECT_NE(json["message"].get<std::string>().find("bob is not in"), std::string::npos);
  EXPECT_EQ(launch("--log=xml"), 2);
  EXPECT_NE(said("err").find("text or json will do"), std::string::npos);
}

}  // namespace
}  // namespace tessera
