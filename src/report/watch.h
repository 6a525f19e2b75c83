// A page that shows a run while it goes on, for a browser on the same machine. It is made from the
// files in the run's folder, so the simulation knows nothing of it and is not slowed by it:
//
//   const std::unique_ptr<Watch> watch = start_watch("8080", "runs/jwins");
//
// It listens on the loopback address only; nobody else on the network can reach it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace tessera {

class Watch {
 public:
  // Port 0 takes any that is free. Throws std::invalid_argument where it cannot listen.
  Watch(std::uint16_t port, std::filesystem::path folder);
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
// Says on stderr where to look.
std::unique_ptr<Watch> start_watch(const std::string& port, const std::filesystem::path& folder);

}  // namespace tessera
