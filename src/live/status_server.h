// Answers questions about a running node from this machine only: over a unix-domain socket in the
// node's folder, and over HTTP on a loopback address when asked to. One thread, one question at a
// time; an asker has a second to ask and a second to take the answer, in however many pieces, and
// is cut short when the server goes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/result.h"
#include "base/time.h"

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

  // A member of its own, so that they are closed when the constructor throws, too.
  struct Descriptors {
    Descriptors() = default;
    ~Descriptors();
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;

    int local = -1, http = -1;
    int wake[2] = {-1, -1};  // A pipe: closing it ends the thread, in the midst of a question too.
  };

  StatusServerOptions options_;
  Answer answer_;
  Descriptors open_;
  std::thread thread_;
};

// Asks the node that listens there; the answer is its words. A node that is frozen accepts nobody:
// it is given up on after `patience`, as is one that answers too slowly.
Result<std::string> ask_status(const std::filesystem::path& socket, std::string_view format,
                               Duration patience = std::chrono::seconds(1));

}  // namespace tessera
