#include "live/log_line.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::string show_time(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     (time - seconds).count());
}

Json json_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

std::string to_json_line(const LogLine& line) {
  Json json = {{"time", show_time(line.time)},
               {"level", to_string(line.level)},
               {"node", line.node},
               {"message", line.text}};
  if (const std::optional<ProgressFigures>& far = line.progress) {
    json["round"] = far->round;
    json["rounds"] = far->rounds;
    json["accuracy"] = json_or_null(far->accuracy);
    json["bytes_out"] = far->bytes_out;
    json["bytes_in"] = far->bytes_in;
    json["peers_alive"] = far->peers_alive;
    json["peers"] = far->peers;
    json["seconds_left"] = json_or_null(far->seconds_left);
    json["waiting_for"] = far->waiting_for;
  }
  // A peer's words may be in any encoding.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

ProgressFigures progress_of(const NodeStatus& status) {
  ProgressFigures far{.round = status.round,
                      .rounds = status.rounds,
                      .seconds_left = status.seconds_left,
                      .waiting_for = status.waiting_for};
  if (status.learning.evaluated_round > 0 && !std::isnan(status.learning.accuracy))
    far.accuracy = status.learning.accuracy;
  for (const PeerState& peer : status.links.peers) {
    far.peers += peer.condition != PeerCondition::kIdle;
    far.bytes_out += peer.out.bytes;
    far.bytes_in += peer.in.bytes;
    far.peers_alive += peer.alive();
  }
  return far;
}

std::string to_text(const ProgressFigures& far) {
  std::string text = fmt::format("round {}", far.round);
  if (far.rounds > 0) text += fmt::format(" of {}", far.rounds);
  if (far.accuracy) text += fmt::format(", accuracy {:.1f}%", 100 * *far.accuracy);
  text += fmt::format(", {} out, {} in, {} of {} peers alive",
                      show_bytes(static_cast<double>(far.bytes_out)),
                      show_bytes(static_cast<double>(far.bytes_in)), far.peers_alive, far.peers);
  if (far.seconds_left)
    text += fmt::format(
        ", about {} left",
        show_duration(std::chrono::seconds(std::llround(std::min(*far.seconds_left, 1e9)))));
  if (!far.waiting_for.empty()) text += fmt::format("; waiting for {}", far.waiting_for);
  return text;
}

LogForm parse_log_form(std::string_view name) {
  if (name == "text") return LogForm::kText;
  if (name == "json") return LogForm::kJson;
  throw std::invalid_argument(fmt::format("log={}: text or json will do", name));
}

std::string show(const LogLine& line, LogForm form) {
  if (form == LogForm::kJson) return to_json_line(line);
  std::string text = line.text;
  std::ranges::replace(text, '\n', ' ');
  return fmt::format("{} {:<7} {}\n", show_time(line.time), to_string(line.level), text);
}

std::chrono::milliseconds time_of_day() {
  return std::chrono::floor<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace tessera
