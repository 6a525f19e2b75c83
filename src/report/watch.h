// A page that shows a run or a fleet while it goes on, for a browser on the same machine. A run's
// is made from the files in its folder, so the simulation knows nothing of it and is not slowed by
// it:
//
//   const std::unique_ptr<Watch> watch = start_watch("8080", watch_run("runs/jwins"));
//
// It listens on the loopback address only; nobody else on the network can reach it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace tessera {

// What is served. All are called from several threads.
struct WatchSource {
  std::function<std::string()> page{};
  std::function<std::string(bool live)> figures{};  // As JSON; false: they are the last ones.
  std::function<std::string()> metrics{};           // For Prometheus; empty: there are none.
};
WatchSource watch_run(std::filesystem::path folder);

class Watch {
 public:
  // Port 0 takes any that is free. Throws std::invalid_argument where it cannot listen.
  Watch(std::uint16_t port, WatchSource source);
  // A page that has asked lately gets the last figures first; that takes a second or two at most.
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  std::string address() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

// What --watch asks for: nothing when it is empty, any free port for "any", else the port it names.
std::unique_ptr<Watch> make_watch(const std::string& port, WatchSource source);
// The same, and says on stderr where to look.
std::unique_ptr<Watch> start_watch(const std::string& port, WatchSource source);

}  // namespace tessera
