// What one live node is told about itself: a TOML file, every key of which is also a flag of
// `tessera node`, and the flag wins:
//
//   name       = "alice"
//   key        = "alice.key"
//   roster     = "roster.toml"
//   experiment = "jwins.toml"       # or a table [experiment] with that file's keys
//   folder     = "/var/lib/tessera/alice"
//
// Paths are relative to the file they are written in, those of flags to where one stands.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "run/experiment.h"

namespace tessera {

struct TransportOptions;

struct LiveSettings {
  std::string name{};
  std::string key{};
  std::string roster{};
  std::string experiment{};
  std::string data{};
  std::string listen{};
  std::string folder{};
  std::string guests{};
  std::string begin_with{};
  std::string checkpoint = "10s";
  std::string gather = "10s";
  std::string linger = "30s";
  std::string link{};
  std::string log = "text";
  std::string progress = "30s";
  std::string metrics{};
  std::string record{};
  std::string threads = "1";
  std::string pace{};
  std::string began{};
  std::string skipped = "0.1";
  std::string attack{};

  Experiment lines{};  // Those of the file `experiment` names, or of the table of that name.
};

struct LiveKey {
  std::string_view name{};
  std::string_view summary{};
  std::string LiveSettings::*value = nullptr;
  bool is_path = false;
};
std::span<const LiveKey> live_keys();

// Throws std::invalid_argument that names the file, the key and what would do. An empty path: flags
// alone.
LiveSettings read_live_settings(const std::filesystem::path& path,
                                const std::map<std::string, std::string>& flags);
std::string to_toml(const LiveSettings& settings);  // Without the experiment's own keys.

// "heartbeat=250ms,silence=1s/10s,retry=100ms/5s,queue=64MiB,in_flight=4MiB,slack=50ms": what
// links are told besides what the experiment says. Throws std::invalid_argument.
void apply_link_options(std::string_view text, TransportOptions& options);

}  // namespace tessera
