// A node's answers to whoever asks how it is, over both of its sockets.
#include "live/status.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "live/status_server.h"
#include "live/testing.h"

namespace tessera {
namespace {

NodeStatus sample() {
  PeerState bob{.id = 1, .name = "bob", .condition = PeerCondition::lost, .reason = "refused"};
  return {.name = "al\"ice",
          .state = "waiting",
          .waiting_for = "round 12 from nodes 3, 7",
          .round = 12,
          .rounds = 100,
          .evaluated_round = 10,
          .accuracy = 0.5,
          .refusals = {{"late", 3}},
          .link_refusals = {{"unknown-key", 2}},
          .peers = {bob}};
}

std::string http(int port, std::string_view request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  char buffer[4096];
  if (::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0 &&
      ::send(fd, request.data(), request.size(), 0) > 0)
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
  EXPECT_EQ(json["peers"][0]["condition"], "lost");
  const std::string text = to_text(sample());
  EXPECT_NE(text.find("waiting for round 12 from nodes 3, 7"), text.npos) << text;
  EXPECT_NE(text.find("unknown-key 2"), text.npos) << text;
  const std::string metrics = to_prometheus(sample());
  EXPECT_NE(metrics.find("tessera_rounds_done{node=\"al\\\"ice\"} 12\n"), metrics.npos) << metrics;
  EXPECT_NE(metrics.find("reason=\"unknown-key\"} 2\n"), metrics.npos);
  EXPECT_NE(metrics.find("tessera_peer_alive{node=\"al\\\"ice\",peer=\"bob\"} 0\n"), metrics.npos);
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
  for (const char* wrong : {"0.0.0.0:9464", "10.0.0.1:1", "localhost", "127.0.0.1:x"})
    EXPECT_THROW(StatusServer({.socket = folder / "s", .http_address = wrong}, answer),
                 std::invalid_argument)
        << wrong;
  fs::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace tessera
