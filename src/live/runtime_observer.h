// What a live node tells those who keep its records.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "live/log_level.h"
#include "node/node.h"
#include "node/traffic.h"
#include "node/trainer.h"

namespace tessera {

// What a node measured of itself.
struct RuntimeRow {
  Round round = 0;
  double seconds = 0;  // Since the run began, when the round was complete.
  Score score{};
  float train_loss = 0;
  Traffic sent{};
};

// Called from the loop's thread only.
class RuntimeObserver {
 public:
  virtual ~RuntimeObserver() = default;
  virtual void on_event(Instant, const Event&) {}                        // Before it is handled.
  virtual void on_adopted(Instant, std::span<const float> /*model*/) {}  // Begins anew with it.
  virtual void on_round(Instant, const Node&) {}  // It has completed a round.
  virtual void on_finished(const Node&) {}        // It has come to its end.
  virtual void on_tick() {}                       // A few times a second.
  virtual void on_row(const RuntimeRow& row) = 0;
  // False: it could not be written, and is to be tried again later.
  virtual bool on_checkpoint(Round round, const Bytes& state) = 0;
  // The newest checkpoint there is, for a node whose model has diverged; empty: none.
  virtual Bytes last_checkpoint() { return {}; }
  virtual void on_went_back(const Node&, const Trainer&) {}  // To that checkpoint.
  // What is wrong just now, a sentence each, for the status.
  virtual std::vector<std::string> alarms() const { return {}; }
  virtual void say(LogLevel level, std::string_view line) = 0;  // For the log that people read.
  virtual void on_progress() {}                                 // A line of it is due.
};

}  // namespace tessera
