// The server of a run that is still going, asked as a browser would.
#include "report/watch.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/spec.h"

#if TESSERA_WITH_WATCH
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/stopwatch.h"
#endif

namespace tessera {
namespace {

TEST(Watch, APortIsANumber) {
  EXPECT_EQ(start_watch("", {}), nullptr);
  EXPECT_THROW(start_watch("eighty", {}), std::invalid_argument);
  EXPECT_THROW(start_watch("0", {}), std::invalid_argument);
  EXPECT_THROW(start_watch("70000", {}), std::invalid_argument);
}

#if TESSERA_WITH_WATCH

namespace fs = std::filesystem;

TEST(Watch, ServesWhatTheFolderHoldsToThisMachineOnly) {
  const fs::path folder =
      fs::path(testing::TempDir()) / fmt::format("tessera_watch_test_{}", ::getpid());
  fs::remove_all(folder);
  const auto watch = start_watch("any", watch_run(folder));
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
  EXPECT_THROW(start_watch(std::to_string(port), watch_run(folder)),
               std::invalid_argument);  // Taken.
  fs::remove_all(folder);
}

// Half a request, and then as many as are asked for of its bytes, one every tenth of a second.
class SlowSender {
 public:
  SlowSender(int port, int drips) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(socket_, "GET / HTTP/1.1\r\nX: ", 19, MSG_NOSIGNAL), 19);
    thread_ = std::jthread([this, drips](const std::stop_token& stop) {
      for (int i = 0; i < drips && !stop.stop_requested(); ++i) {
        ::poll(nullptr, 0, 100);
        if (::send(socket_, "a", 1, MSG_NOSIGNAL) != 1) return;
      }
    });
  }
  ~SlowSender() {
    thread_.request_stop();
    thread_.join();
    ::close(socket_);
  }

 private:
  int socket_;
  std::jthread thread_{};
};

int port_of(const Watch& watch) {
  return static_cast<int>(parse_integer(watch.address().substr(watch.address().rfind(':') + 1)));
}

// Twenty connections that send next to nothing, for 15 s if they are let.
TEST(Watch, SlowSendersBlockNeitherThePageNorTheEnd) {
  auto watch = start_watch("any", watch_run("runs/none"));
  std::vector<std::unique_ptr<SlowSender>> crowd;
  for (int i = 0; i < 20; ++i) crowd.push_back(std::make_unique<SlowSender>(port_of(*watch), 150));
  httplib::Client browser("127.0.0.1", port_of(*watch));
  browser.set_read_timeout(10);
  auto page = browser.Get("/");
  // A machine that is too busy for a second looks like a slow reader; a person would reload.
  for (int again = 0; !page && again < 3; ++again) page = browser.Get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  for (auto& sender : crowd) sender = std::make_unique<SlowSender>(port_of(*watch), 150);
  const Stopwatch since_end;
  watch.reset();
  EXPECT_LT(since_end.seconds(), 8);
}

#endif

}  // namespace
}  // namespace tessera
