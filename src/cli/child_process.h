// Programs that a command starts and looks after. Each writes to a log, is in a process group of
// its own, so that Ctrl-C is for the command, and is killed when the command is gone, however it
// went.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct ChildCommand {
  std::vector<std::string> words{};
  std::filesystem::path log{};                                     // Appended to.
  std::vector<std::pair<std::string, std::string>> environment{};  // Added to ours.
};

// Throws std::runtime_error when there can be no log or no process.
pid_t start_child(ChildCommand command);
// The exit code of a child that has ended, or 128 and the signal that ended it. Asked once.
std::optional<int> ended_child(pid_t pid);
// Kills it and waits for its end.
void end_child(pid_t pid);

// The last line in a log: of a program that failed, why.
std::string last_line_of(const std::filesystem::path& log);

}  // namespace tessera
