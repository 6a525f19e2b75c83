// Answers questions about a running node from this machine only: over a unix-domain socket in the
// node's folder, and over HTTP on a loopback address when asked to. One thread, one question at a
// time, a second per question.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"

namespace tessera {

struct StatusServerOptions {
  std::filesystem::path socket{};  // Replaced if it is there: whoever made it is gone.
  std::string http_address{};      // 127.0.0.1:9464; empty: none.
};

class StatusServer {
 public:
  // `answer` is called on the server's thread with "text", "json" or "prometheus".
  using Answer = std::function<std::string(std::string_view format)>;

  // Throws std::invalid_argument when the socket cannot be made, when the address cannot be bound
  // or when it is not a loopback address: what it tells is not for the network.
  StatusServer(StatusServerOptions options, Answer answer);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

 private:
  void serve();
  void answer_local(int connection);
  void answer_http(int connection);

  StatusServerOptions options_;
  Answer answer_;
  int local_ = -1, http_ = -1;
  int wake_[2] = {-1, -1};  // A pipe: closing it ends the thread.
  std::thread thread_;
};

// Asks the node that listens there; the answer is its words.
Result<std::string> ask_status(const std::filesystem::path& socket, std::string_view format);

}  // namespace tessera
