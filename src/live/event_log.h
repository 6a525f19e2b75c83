// Everything a live node was told, in order, in a file: enough to drive the same node again
// elsewhere and see it do the same. Training is not recorded but computed again, and compared by
// its digest.
//
// A file is a header and then records, each with its length and checksum, so that the end a crash
// tore off is noticed and left out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "node/node.h"
#include "node/trainer.h"

namespace tessera {

struct EventLogHeader {
  NodeId id = 0;
  std::uint64_t run = 0;  // The roster's.
  std::string config{};   // The experiment's TOML.
  Bytes state{};          // As recorded_state() gives it; empty: from the beginning.
};

// What a log begins with: the node's state and the trainer's.
Bytes recorded_state(const Node& node, const Trainer& trainer);

struct LoggedTraining {
  float loss = 0;
  std::uint64_t digest = 0;  // Of the model.
};
struct LoggedAdoption {  // A newcomer begins anew with this model.
  Vector model{};
};
struct LoggedRound {  // The node completed a round and has this model.
  Round round = 0;
  std::uint64_t digest = 0;
};
struct LoggedEvent {
  Instant at{};
  std::variant<Started, Arrived, Woke, LoggedTraining, LoggedAdoption, LoggedRound> what{};
};

class EventLogWriter {
 public:
  // Throws std::runtime_error when the file cannot be made; so do the others when it cannot grow.
  EventLogWriter(const std::filesystem::path& path, const EventLogHeader& header);

  void event(Instant at, const Event& event);
  void adoption(Instant at, std::span<const float> model);
  void round(Instant at, Round round, std::span<const float> model);

 private:
  void write(const Bytes& record);

  std::filesystem::path path_;
  std::ofstream out_;
};

class EventLogReader {
 public:
  // Refuses with "file" or "event-log".
  static Result<EventLogReader> open(const std::filesystem::path& path);

  const EventLogHeader& header() const { return header_; }
  // The next record; nothing at the end, or where the file is torn.
  std::optional<LoggedEvent> next();
  bool torn() const { return torn_; }

 private:
  std::optional<ByteSpan> next_record();

  Bytes file_;
  std::size_t at_ = 0;
  EventLogHeader header_;
  bool torn_ = false;
};

struct Replay {
  std::uint64_t events = 0, trainings = 0;
  Round rounds = 0;
  std::uint64_t model_digest = 0;  // At the end.
  bool torn = false;
  // Where the node first did something else than it did live, in words; empty when nowhere.
  std::string difference{};
};

// Drives a node made by `make_node` through the log.
Result<Replay> replay(EventLogReader& log,
                      const std::function<std::unique_ptr<Node>(Vector model)>& make_node,
                      Trainer& trainer);

std::uint64_t digest_of(std::span<const float> model);

}  // namespace tessera
