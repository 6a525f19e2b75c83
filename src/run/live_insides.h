// The insides of a live run (live_run.h): its roster, links and records, and the runtime that
// drives the node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "live/membership.h"
#include "live/reception.h"
#include "live/runtime.h"
#include "report/run_folder.h"
#include "run/lesson.h"
#include "run/live_records.h"
#include "run/live_roster.h"
#include "run/live_run.h"
#include "run/live_settings.h"
#include "run/made.h"
#include "run/plan.h"

namespace tessera {

class LiveInsides {
 public:
  LiveInsides(LiveSettings settings, LiveParts parts);
  ~LiveInsides();

  RunEnd run(const std::string& command, const Made& made);
  std::string shortfall() const { return runtime_->shortfall(); }
  void stop() { runtime_->stop(); }
  NodeStatus status() const;

 private:
  Learning make_own_lesson(Learning given) const;
  std::unique_ptr<Transport> make_transport() const;
  RuntimeOptions read_options() const;
  std::vector<NodeId> helpers() const;
  std::vector<NodeId> met_in(Round round) const;
  void keep(const Roster& roster);
  void restore();
  void begin_recording();
  void write_results(const std::string& command, const Made& made);

  Stopwatch watch_;
  const std::string version_ = made_now().version;
  LiveSettings settings_;
  RosterFile roster_;
  NodeId id_;
  Plan plan_;
  RuntimeOptions options_;
  Learning lesson_;
  RunFolder folder_;
  std::unique_ptr<Transport> transport_;
  Say say_;
  Membership membership_;
  Reception reception_;
  LiveRecords records_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace tessera
