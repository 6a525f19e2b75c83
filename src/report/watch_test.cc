// The server of a run that is still going, asked as a browser would.
#include "report/watch.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/spec.h"
#include "report/page.h"

#if TESSERA_WITH_WATCH
#include <fmt/format.h>
#include <httplib.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#endif

namespace tessera {
namespace {

TEST(Watch, APortIsANumber) {
  EXPECT_EQ(start_watch("", "runs/none"), nullptr);
  EXPECT_THROW(start_watch("eighty", "runs/none"), std::invalid_argument);
  EXPECT_THROW(start_watch("0", "runs/none"), std::invalid_argument);
  EXPECT_THROW(start_watch("70000", "runs/none"), std::invalid_argument);
}

#if TESSERA_WITH_WATCH

namespace fs = std::filesystem;

TEST(Watch, ServesWhatTheFolderHoldsToThisMachineOnly) {
  if (!has_page()) GTEST_SKIP() << "this build has no page: uPlot was not there";
  const fs::path folder =
      fs::path(testing::TempDir()) / fmt::format("tessera_watch_test_{}", ::getpid());
  fs::remove_all(folder);
  const auto watch = start_watch("any", folder);
  const auto port =
      static_cast<int>(parse_integer(watch->address().substr(watch->address().rfind(':') + 1)));
  httplib::Client browser("127.0.0.1", port);

  // Before the run has written anything there is a page all the same.
  const auto page = browser.Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_NE(page->body.find("data-mode=\"live\""), std::string::npos);
  const auto figures = [&](const std::string& tag) {
    return browser.Get("/data.json", httplib::Headers{{"If-None-Match", tag}});
  };
  const auto empty = figures("");
  ASSERT_TRUE(empty);
  EXPECT_TRUE(nlohmann::json::parse(empty->body)["runs"].empty());

  fs::create_directories(folder);
  const std::string rows = "{\"round\":1,\"loss\":3}\n{\"round\":2,\"lo";
  ASSERT_TRUE(write_file(folder / "config.toml", bytes_of("seed = \"1\"\n")).ok());
  ASSERT_TRUE(write_file(folder / "metrics.jsonl", bytes_of(rows)).ok());
  const auto grown = figures(empty->get_header_value("ETag"));
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->status, 200);
  const auto json = nlohmann::json::parse(grown->body);
  EXPECT_EQ(json["live"], true);
  EXPECT_EQ(json["runs"][0]["seeds"][0]["columns"]["round"], nlohmann::json({1}));
  EXPECT_EQ(figures(grown->get_header_value("ETag"))->status, 304);  // Nothing new.

  // A name of someone else's that leads to our address.
  EXPECT_EQ(browser.Get("/", httplib::Headers{{"Host", "elsewhere.example"}})->status, 403);
  EXPECT_EQ(browser.Get("/config.toml")->status, 404);
  EXPECT_THROW(start_watch(std::to_string(port), folder), std::invalid_argument);  // Taken.
  fs::remove_all(folder);
}

#endif

}  // namespace
}  // namespace tessera
