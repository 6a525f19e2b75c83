// A live cluster on this machine: a process per node, each with a key and a port of its own. Keys
// live as long as the cluster does, and no process outlives it: children are killed when their
// parent is gone, however it went.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "run/plan.h"

namespace tessera {

struct ClusterOptions {
  std::filesystem::path folder{};  // The run's.
  std::filesystem::path program{};
  std::string link{};  // As `tessera node` has them.
  std::string checkpoint{};
  std::string gather{};
  std::string linger{};
  std::string pace{};
  std::string skipped{};
  std::string log{};
  // For nodes that are to live in network namespaces or containers: what to put before each one's
  // command, and the host it is reached at; "{id}" stands for its number.
  std::string prefix{};
  std::string host = "127.0.0.1";
  bool record = false;
  std::uint32_t absent = 0;  // So many members more, who are not there.
};

struct Child {
  NodeId id = 0;
  bool hostile = false;
  std::string name{};
  std::filesystem::path settings{}, log{}, folder{};
  pid_t pid = 0;               // 0: not running.
  std::optional<int> ended{};  // Its exit code, or 128 and the signal that ended it.
};

class LiveCluster {
 public:
  // Makes keys, a roster with free ports, and the settings of every node. Throws
  // std::runtime_error when it cannot.
  LiveCluster(const Plan& plan, ClusterOptions options);
  ~LiveCluster();  // Kills what still runs and removes the keys.
  LiveCluster(const LiveCluster&) = delete;
  LiveCluster& operator=(const LiveCluster&) = delete;

  std::vector<Child>& children() { return children_; }
  // Throws std::runtime_error when there can be no log or no process.
  void start(Child& child);
  void signal_all(int signal);
  // Notes which children have ended; those it returns did since the last call.
  std::vector<Child*> reap();
  bool any_running() const;

 private:
  void make_settings(const Plan& plan);

  ClusterOptions options_;
  std::filesystem::path secrets_;
  std::vector<Child> children_;
};

// The round its newest checkpoint was written after; none: it would begin at the beginning.
std::optional<Round> saved_round(const Child& child);

}  // namespace tessera
