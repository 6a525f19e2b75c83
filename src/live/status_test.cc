// A node's answers to whoever asks how it is, over both of its sockets.
#include "live/status.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/stopwatch.h"
#include "live/link/testing.h"
#include "live/status_question.h"
#include "live/status_server.h"

namespace tessera {
namespace {

NodeStatus sample() {
  PeerState bob{.id = 1, .name = "bob", .condition = PeerCondition::kLost, .reason = "refused"};
  return {.name = "al\"ice",
          .state = "waiting",
          .waiting_for = "round 12 from nodes 3, 7",
          .round = 12,
          .rounds = 100,
          .learning = {.evaluated_round = 10, .accuracy = 0.5},
          .refusals = {{"late", 3}, {"size", 4}},
          .refused = {{"late", {{1, 3}}}, {"size", {{1, 1}, {5, 3}}}},
          .notes = {{"went-on-without", 6}},
          .links = {.refusals = {{"size", 5}, {"unknown-key", 2}}, .peers = {bob}}};
}

int connect_to(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where), 0);
  return fd;
}

std::string http(int port, std::string_view request) {
  const int fd = connect_to(port);
  std::string answer;
  char buffer[4096];
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0)
    for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof buffer, 0)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
  ::close(fd);
  return answer;
}

TEST(Status, SaysTheSameInThreeForms) {
  const auto json = nlohmann::json::parse(to_json(sample()));
  EXPECT_EQ(json["name"], "al\"ice");
  EXPECT_EQ(json["round"], 12);
  EXPECT_EQ(json["refusals"]["late"], 3);
  EXPECT_EQ(json["refused_of"]["5"]["size"], 3);
  EXPECT_EQ(json["peers"][0]["condition"], "lost");
  const std::string text = to_text(sample());
  EXPECT_NE(text.find("waiting for round 12 from nodes 3, 7"), text.npos) << text;
  EXPECT_NE(text.find("unknown-key 2"), text.npos) << text;
  EXPECT_NE(text.find("size 3 of node 5"), text.npos) << text;
  const std::string metrics = to_prometheus(std::array{sample()});
  EXPECT_NE(metrics.find("tessera_rounds_done{node=\"al\\\"ice\"} 12\n"), metrics.npos) << metrics;
  EXPECT_NE(metrics.find("reason=\"unknown-key\"} 2\n"), metrics.npos);
  EXPECT_NE(metrics.find("tessera_peer_alive{node=\"al\\\"ice\",peer=\"bob\"} 0\n"), metrics.npos);
}

// A peer's words are part of it, and need not be UTF-8. This ended the process.
TEST(Status, BytesThatAreNoTextAreReplaced) {
  NodeStatus status = sample();
  status.links.peers[0].reason = "we differ in \xff\xfe";
  EXPECT_TRUE(nlohmann::json::accept(to_json(status)));
}

TEST(Status, TellsNoSeriesTwice) {
  const std::string metrics = to_prometheus(std::array{sample()});
  for (const char* once : {"by=\"node\",reason=\"size\"} 4\n", "by=\"link\",reason=\"size\"} 5\n",
                           "tessera_notes_total{node=\"al\\\"ice\",what=\"went-on-without\"} 6\n"})
    EXPECT_NE(metrics.find(once), metrics.npos) << once << metrics;
  std::set<std::string> series;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.starts_with('#') || series.insert(line.substr(0, line.rfind(' '))).second)
        << line;
}

class Folder {
 public:
  explicit Folder(std::string_view name)
      : path(std::filesystem::path(testing::TempDir()) /
             fmt::format("tessera_{}_{}", name, ::getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

// As a node does that was frozen: it listens and accepts nobody, until no more fit into its queue.
TEST(StatusServer, OneThatNeverAcceptsIsGivenUpOn) {
  const Folder folder("frozen");
  const std::string path = (folder.path / "status.sock").string();
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof where.sun_path);
  std::memcpy(where.sun_path, path.c_str(), path.size() + 1);
  const auto* address = reinterpret_cast<const sockaddr*>(&where);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listener, address, sizeof where), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  std::vector<int> queued;
  do queued.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
  while (::connect(queued.back(), address, sizeof where) == 0 && queued.size() < 100);
  ASSERT_LT(queued.size(), 100u);

  const Stopwatch watch;
  const auto answer = ask_status(path, "text", std::chrono::milliseconds(100));
  EXPECT_LT(watch.seconds(), 1);
  ASSERT_FALSE(answer.ok());
  EXPECT_NE(answer.error().message.find("frozen"), std::string::npos) << answer.error().message;
  queued.push_back(listener);
  for (const int fd : queued) ::close(fd);
}

// A byte now and then, and never the end of the question.
class Dribbler {
 public:
  explicit Dribbler(int port) : fd_(connect_to(port)) {}
  ~Dribbler() {
    thread_.request_stop();
    thread_.join();
    ::close(fd_);
  }
  std::atomic<int> sent = 0;

 private:
  int fd_;
  std::jthread thread_{[this](std::stop_token stop) {
    while (!stop.stop_requested() && ::send(fd_, "G", 1, MSG_NOSIGNAL) == 1) {
      ++sent;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }};
};

TEST(StatusServer, ADribblingClientHoldsUpNeitherOthersNorTheEnd) {
  const Folder folder("dribble");
  const int port = free_port();
  auto server = std::make_unique<StatusServer>(
      StatusServerOptions{.socket = folder.path / "status.sock",
                          .http_address = fmt::format("127.0.0.1:{}", port)},
      [](std::string_view) { return "well"; });
  const Dribbler first(port);
  ASSERT_TRUE(await([&] { return first.sent > 2; }));
  const auto answer = ask_status(folder.path / "status.sock", "text", kPatience);
  ASSERT_TRUE(answer.ok()) << answer.error().message;
  EXPECT_EQ(*answer, "well");

  const Dribbler second(port);
  ASSERT_TRUE(await([&] { return second.sent > 2; }));
  const Stopwatch watch;
  server.reset();
  EXPECT_LT(watch.seconds(), 1.5);
}

// Twenty have connected and say nothing, on either socket: whoever asks is answered at once.
TEST(StatusServer, IdleConnectionsKeepNobodyWaiting) {
  const Folder folder("idle");
  const int port = free_port();
  const StatusServer server(
      {.socket = folder.path / "status.sock", .http_address = fmt::format("127.0.0.1:{}", port)},
      [](std::string_view) { return "well"; });
  std::vector<int> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(connect_to(port));
  const Stopwatch watch;
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(http(port, "GET /metrics HTTP/1.0\r\n\r\n").find("\r\n\r\nwell"), std::string::npos);
    EXPECT_EQ(*ask_status(folder.path / "status.sock", "text"), "well");
  }
  EXPECT_LT(watch.seconds(), 0.8);
  for (const int fd : idle) ::close(fd);
}

// More than are let in at a time: those who came first make room for those who ask.
TEST(StatusServer, AFloodOfConnectionsKeepsNobodyWaitingEither) {
  const Folder folder("flood");
  const int port = free_port();
  const StatusServer server(
      {.socket = folder.path / "status.sock", .http_address = fmt::format("127.0.0.1:{}", port)},
      [](std::string_view) { return "well"; });
  std::vector<int> idle;
  const Stopwatch watch;
  for (int i = 0; i < 300; ++i) idle.push_back(connect_to(port));
  EXPECT_NE(http(port, "GET /metrics HTTP/1.0\r\n\r\n").find("\r\n\r\nwell"), std::string::npos);
  EXPECT_EQ(*ask_status(folder.path / "status.sock", "text"), "well");
  EXPECT_LT(watch.seconds(), 0.8);
  for (const int fd : idle) ::close(fd);
}

TEST(StatusServer, ARequestForAnotherHostIsRefused) {
  const Folder folder("host");
  const int port = free_port();
  const StatusServer server(
      {.socket = folder.path / "status.sock", .http_address = fmt::format("127.0.0.1:{}", port)},
      [](std::string_view) { return "well"; });
  const auto ask = [&](std::string_view host) {
    return http(port, fmt::format("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", host));
  };
  for (const char* ours : {"127.0.0.1:9464", "localhost:9464", "LOCALHOST", "[::1]:1", "127.0.0.1"})
    EXPECT_TRUE(ask(ours).starts_with("HTTP/1.0 200")) << ours;
  for (const char* foreign : {"evil.example", "evil.example:9464", "127.evil.example", "10.0.0.1"})
    EXPECT_TRUE(ask(foreign).starts_with("HTTP/1.0 403")) << foreign;
}

// Someone looks at the folder without a pause while servers are made in it.
TEST(StatusServer, ItsSocketIsNeverOpenToOthers) {
  const Folder folder("mode");
  const std::filesystem::path path = folder.path / "status.sock";
  const mode_t before = ::umask(0);
  std::atomic<bool> seen = false;
  {
    std::jthread looker([&](std::stop_token stop) {
      struct stat status {};
      while (!stop.stop_requested())
        if (::stat(path.c_str(), &status) == 0 && (status.st_mode & 077) != 0) seen = true;
    });
    for (int i = 0; i < 300; ++i)
      const StatusServer server({.socket = path}, [](std::string_view) { return "well"; });
  }
  ::umask(before);
  EXPECT_FALSE(seen);
}

TEST(StatusServer, AnswersOverBothSocketsAndOnlyOnTheLoopback) {
  namespace fs = std::filesystem;
  // Longer than a socket's address may be.
  const fs::path folder = fs::path(testing::TempDir()) /
                          fmt::format("tessera_status_{}", ::getpid()) / std::string(120, 'x');
  fs::create_directories(folder);
  const int port = free_port();
  const auto answer = [](std::string_view format) { return "how: " + std::string(format); };
  EXPECT_FALSE(ask_status(folder / "status.sock", "text").ok());
  {
    const StatusServer server(
        {.socket = folder / "status.sock", .http_address = fmt::format("127.0.0.1:{}", port)},
        answer);
    EXPECT_EQ(*ask_status(folder / "status.sock", "json"), "how: json");
    EXPECT_FALSE(ask_status(folder / "status.sock", "nonsense").ok());
    EXPECT_NE(http(port, "GET /metrics HTTP/1.0\r\n\r\n").find("\r\n\r\nhow: prometheus"),
              std::string::npos);
    EXPECT_TRUE(http(port, "GET /etc HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));
  }
  EXPECT_FALSE(fs::exists(folder / "status.sock"));
  for (const char* wrong : {"0.0.0.0:9464", "10.0.0.1:1", "localhost", "127.0.0.1:x",
                            "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:9464x"})
    EXPECT_THROW(StatusServer({.socket = folder / "s", .http_address = wrong}, answer),
                 std::invalid_argument)
        << wrong;
  fs::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace tessera
