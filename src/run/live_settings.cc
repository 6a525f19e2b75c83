#include "run/live_settings.h"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <array>
#include <sstream>
#include <stdexcept>

#include "base/files.h"
#include "base/spec.h"
#include "base/table.h"
#include "data/partition.h"
#include "live/link/options.h"
#include "run/experiment_text.h"

namespace tessera {
namespace {

constexpr std::array kKeys = {
    LiveKey{"name", "Who this is in the roster", &LiveSettings::name},
    LiveKey{"key", "The private key's file, from tessera keygen", &LiveSettings::key, true},
    LiveKey{"roster", "The members' names, addresses and public keys", &LiveSettings::roster, true},
    LiveKey{"experiment", "What is learnt and how: an experiment's file", &LiveSettings::experiment,
            true},
    LiveKey{"data", "This machine's own dataset, where the experiment says partition=local",
            &LiveSettings::data},
    LiveKey{"listen", "host:port to listen at (default: the roster's port)", &LiveSettings::listen},
    LiveKey{"folder", "Where records and checkpoints go (default: the name)", &LiveSettings::folder,
            true},
    LiveKey{"guests", "The folder of invitations and of who knocks, see tessera invite",
            &LiveSettings::guests, true},
    LiveKey{"begin_with",
            "Wait, as long as it takes, until the roster has so many members (default: 0)",
            &LiveSettings::begin_with},
    LiveKey{"checkpoint", "Time between checkpoints (default: 10s)", &LiveSettings::checkpoint},
    LiveKey{"gather", "How long to wait for the others before beginning (default: 10s)",
            &LiveSettings::gather},
    LiveKey{"linger", "How long to stay for others when finished (default: 30s)",
            &LiveSettings::linger},
    LiveKey{"link",
            "heartbeat=250ms,silence=1s/10s,retry=100ms/"
            "5s,queue=64MiB,in_flight=4MiB,slack=50ms,message_max=...,linger=2s",
            &LiveSettings::link},
    LiveKey{"log", "How its log is written: text, or json, an object a line (default: text)",
            &LiveSettings::log},
    LiveKey{"progress", "Time between lines of progress in the log; 0s: none (default: 30s)",
            &LiveSettings::progress},
    LiveKey{"metrics", "Answer Prometheus at this loopback address", &LiveSettings::metrics},
    LiveKey{"record", "Write every event to this file, for tessera replay", &LiveSettings::record,
            true},
    LiveKey{"threads", "Threads for training (default: 1)", &LiveSettings::threads},
    LiveKey{"pace", "Training takes at least this long, to stand in for a slower machine",
            &LiveSettings::pace},
    LiveKey{"began", "When the run began, in seconds since 1970 (default: now)",
            &LiveSettings::began},
    LiveKey{"skipped", "The part of its rounds it may skip and still have finished (default: 0.1)",
            &LiveSettings::skipped},
    LiveKey{"attack", "For tests of the others: what it tells instead, see docs/security.md",
            &LiveSettings::attack},
};

std::filesystem::path beside(const std::filesystem::path& file, const std::string& path) {
  return path.empty() ? std::filesystem::path() : file.parent_path() / path;
}

void take_key(const std::filesystem::path& path, const std::string& key, const toml::node& value,
              LiveSettings& settings) {
  if (key == "experiment" && value.is_table()) {
    std::ostringstream text;
    text << *value.as_table();
    settings.lines = parse_experiment(text.str(), path);
    return;
  }
  const LiveKey& known = require_entry(live_keys(), "key", key);
  std::string& target = settings.*(known.value);
  if (const auto text = value.value_exact<std::string>())
    target = known.is_path ? beside(path, *text).string() : *text;
  else if (const auto number = value.value_exact<std::int64_t>(); number && !known.is_path)
    target = std::to_string(*number);
  else
    throw std::invalid_argument(fmt::format("{} must be a text", key));
}

void read_file_into(const std::filesystem::path& path, LiveSettings& settings) {
  const std::string text = or_throw<std::invalid_argument>(read_text_file(path));
  const toml::table table = parse_toml(text, path);
  for (const auto& [key, value] : table) {
    try {
      take_key(path, std::string(key.str()), value, settings);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(
          fmt::format("{}:{}: {}", path.string(), value.source().begin.line, error.what()));
    }
  }
}

void take_own_data(LiveSettings& settings) {
  if (settings.data.empty()) return;
  if (!read_partition(settings.lines.partition).kind->own_data)
    throw std::invalid_argument(
        fmt::format("data={}: with partition={} all machines have the same data, as the experiment "
                    "says it; with partition=local each has its own",
                    settings.data, settings.lines.partition));
  settings.lines.data = settings.data;
}

// "1s/10s": the least and the most.
void take_range(Options& options, std::string_view key, Duration& min, Duration& max) {
  const std::vector<std::string> parts = options.words(key, {});
  if (parts.empty()) return;
  if (parts.size() != 2) options.refuse(key, "write the least and the most, such as 1s/10s");
  try {
    min = parse_duration(parts[0]);
    max = parse_duration(parts[1]);
  } catch (const std::invalid_argument& error) {
    options.refuse(key, error.what());
  }
  if (min <= Duration::zero() || max < min)
    options.refuse(key, "the least must be above 0 and no more than the most");
}

}  // namespace

std::span<const LiveKey> live_keys() {
  return kKeys;
}

LiveSettings read_live_settings(const std::filesystem::path& path,
                                const std::map<std::string, std::string>& flags) {
  LiveSettings settings;
  if (!path.empty()) read_file_into(path, settings);
  for (const auto& [name, value] : flags)
    if (!value.empty()) settings.*(require_entry(live_keys(), "key", name).value) = value;
  for (const char* needed : {"name", "key", "roster"})
    if ((settings.*(require_entry(live_keys(), "key", needed).value)).empty())
      throw std::invalid_argument(
          fmt::format("a node needs {0}: write {0} = \"...\" in {1}, or add "
                      "--{0}",
                      needed, path.empty() ? "node.toml" : path.string()));
  if (!settings.experiment.empty()) settings.lines = read_experiment(settings.experiment);
  take_own_data(settings);
  if (settings.folder.empty()) settings.folder = settings.name;
  return settings;
}

std::string to_toml(const LiveSettings& settings) {
  toml::table table;
  for (const LiveKey& key : kKeys)
    if (const std::string& value = settings.*(key.value); !value.empty())
      table.insert(key.name, value);
  std::ostringstream text;
  text << table << "\n";
  return text.str();
}

void apply_link_options(std::string_view text, TransportOptions& link) {
  Options options(parse_spec(fmt::format("link{}{}", text.empty() ? "" : ":", text)));
  link.heartbeat.interval = options.duration("heartbeat", link.heartbeat.interval);
  if (link.heartbeat.interval <= Duration::zero())
    options.refuse("heartbeat", "time must pass between two heartbeats");
  take_range(options, "silence", link.heartbeat.silence_min, link.heartbeat.silence_max);
  take_range(options, "retry", link.retry.pause_min, link.retry.pause_max);
  link.queue_bytes_max = options.size_bytes("queue", link.queue_bytes_max);
  link.in_flight_bytes_max = options.size_bytes("in_flight", link.in_flight_bytes_max);
  link.slack = options.duration("slack", link.slack);
  link.message_bytes_max = options.size_bytes("message_max", link.message_bytes_max);
  link.linger = options.duration("linger", link.linger);
  link.unused_max = options.duration("unused", link.unused_max);
  options.done();
}

}  // namespace tessera
