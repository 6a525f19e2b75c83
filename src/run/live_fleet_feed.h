// What the live page of a fleet shows: a thread asks the nodes every second, and a viewer gets
// what it heard last, without waiting.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "report/watch.h"
#include "run/live_fleet_question.h"

namespace tessera {

class FleetFeed {
 public:
  FleetFeed(std::string title, AskFleet ask);
  ~FleetFeed();
  FleetFeed(const FleetFeed&) = delete;
  FleetFeed& operator=(const FleetFeed&) = delete;

  std::string figures(bool live) const;  // For the page, as JSON.
  std::string metrics() const;           // For Prometheus.

 private:
  void ask_on_and_on();

  std::string title_;
  AskFleet ask_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::vector<FleetNode> nodes_;
  std::thread thread_;
};

// The page of a fleet, for Watch.
WatchSource watch_fleet(std::string title, AskFleet ask);

}  // namespace tessera
