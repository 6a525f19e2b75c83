// Answers questions about a running node from this machine only: over a unix-domain socket in the
// node's folder, and over HTTP on a loopback address when asked to. One thread that waits for
// nobody: who has connected and says nothing keeps no one else from being answered, and when too
// many do so, who came first makes room.
#pragma once

#include <poll.h>

#include <filesystem>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "live/status_asker.h"

namespace tessera {

struct StatusServerOptions {
  std::filesystem::path socket{};  // Replaced if it is there: whoever made it is gone.
  std::string http_address{};      // 127.0.0.1:9464; empty: none.
};

class StatusServer {
 public:
  // `answer` is called on the server's thread.
  //
  // Throws std::invalid_argument when the socket cannot be made, when the address cannot be bound
  // or when it is not a loopback address: what it tells is not for the network.
  StatusServer(StatusServerOptions options, StatusAnswer answer);
  ~StatusServer();
  StatusServer(const StatusServer&) = delete;
  StatusServer& operator=(const StatusServer&) = delete;

 private:
  void serve();
  std::vector<pollfd> watched() const;
  int wait_max_ms() const;
  void let_in(int listener, StatusAsker::Manner manner);
  void go_on_with(const std::vector<pollfd>& watched);

  // A member of its own, so that they are closed when the constructor throws, too.
  struct Descriptors {
    Descriptors() = default;
    ~Descriptors();
    Descriptors(const Descriptors&) = delete;
    Descriptors& operator=(const Descriptors&) = delete;

    int local = -1, http = -1;
    int wake[2] = {-1, -1};  // A pipe: closing it ends the thread.
  };

  StatusServerOptions options_;
  StatusAnswer answer_;
  Descriptors open_;
  std::list<StatusAsker> askers_;  // The thread's own; who came first stands first.
  std::thread thread_;
};

}  // namespace tessera
