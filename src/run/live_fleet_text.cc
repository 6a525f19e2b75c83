#include "run/live_fleet_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "live/log_line.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t sum_of(const WordCounts& refusals) {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : refusals) sum += count;
  return sum;
}

std::uint64_t refusals_of(const NodeStatus& status) {
  return sum_of(status.refusals) + sum_of(status.links.refusals);
}

std::string row(const std::array<std::string, 9>& cells, std::string_view remark) {
  std::string line =
      fmt::format("{:<14} {:<6}{:>14}{:>10}{:>11}{:>11}{:>9}{:>9}{:>10}", cells[0], cells[1],
                  cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8]);
  if (!remark.empty()) line += fmt::format("  {}", remark);
  return line + "\n";
}

std::string row_of(const FleetNode& node) {
  const std::string is(to_string(node.condition));
  if (!node.answered())
    return row({node.member.name, is, "-", "-", "-", "-", "-", "-", "-"}, node.why);
  const NodeStatus& status = node.status;
  const ProgressFigures far = progress_of(status);
  std::string remark = status.state;
  if (!status.waiting_for.empty()) remark += " for " + status.waiting_for;
  if (!node.why.empty()) remark = node.why;
  return row({node.member.name, is,
              far.rounds > 0 ? fmt::format("{} of {}", far.round, far.rounds)
                             : fmt::format("{}", far.round),
              far.accuracy ? fmt::format("{:.2f}%", 100 * *far.accuracy) : "-",
              show_bytes(static_cast<double>(far.bytes_out)),
              show_bytes(static_cast<double>(far.bytes_in)), std::to_string(refusals_of(status)),
              status.origin.version.empty() ? "-" : status.origin.version,
              far.seconds_left ? show_duration(std::chrono::seconds(
                                     std::llround(std::clamp(*far.seconds_left, 0.0, 1e9))))
                               : "-"},
             remark);
}

std::size_t count_of(std::span<const FleetNode> nodes, FleetCondition condition) {
  return static_cast<std::size_t>(std::ranges::count(nodes, condition, &FleetNode::condition));
}

// What the page shows of the link to a neighbour; JSON has no word for a peer that was never heard.
Json json_of(const PeerState& peer, Instant now) {
  return {
      {"id", peer.id},
      {"is", to_string(peer.condition)},
      {"why", peer.reason},
      {"heard", peer.last_heard == Instant{} ? Json() : Json(to_seconds(now - peer.last_heard))},
      {"out", peer.out.bytes},
      {"in", peer.in.bytes}};
}

Json json_of(const FleetNode& node) {
  const NodeStatus& status = node.status;
  Json json = {{"id", node.member.id},
               {"name", node.member.name},
               {"address", node.member.address},
               {"is", to_string(node.condition)},
               {"why", node.why},
               {"alarms", node.alarms}};
  if (!node.answered()) return json;
  const ProgressFigures far = progress_of(status);
  json["state"] = status.state;
  json["waiting_for"] = status.waiting_for;
  json["round"] = far.round;
  json["rounds"] = far.rounds;
  json["accuracy"] = far.accuracy ? Json(*far.accuracy) : Json();
  json["bytes_out"] = far.bytes_out;
  json["bytes_in"] = far.bytes_in;
  json["refusals"] = refusals_of(status);
  json["version"] = status.origin.version;
  json["seconds_left"] = far.seconds_left ? Json(*far.seconds_left) : Json();
  json["neighbours"] = status.origin.neighbours;
  json["links"] = Json::array();
  const std::vector<NodeId>& near = status.origin.neighbours;
  for (const PeerState& peer : status.links.peers)
    if (std::ranges::find(near, peer.id) != near.end())
      json["links"].push_back(json_of(peer, status.links.asked_at));
  return json;
}

}  // namespace

std::string to_text(std::span<const FleetNode> nodes) {
  std::string text =
      row({"node", "is", "round", "accuracy", "out", "in", "refused", "version", "left"}, "");
  for (const FleetNode& node : nodes) text += row_of(node);
  text +=
      fmt::format("{} nodes: {} alive, {} slow, {} lost\n", nodes.size(),
                  count_of(nodes, FleetCondition::kAlive), count_of(nodes, FleetCondition::kSlow),
                  count_of(nodes, FleetCondition::kLost));
  if (const std::size_t heard = count_of(nodes, FleetCondition::kHeard); heard > 0)
    text.insert(text.size() - 1, fmt::format(", {} heard", heard));
  for (const FleetNode& node : nodes)
    for (const std::string& alarm : node.alarms)
      text += fmt::format("ALARM {}: {}\n", node.member.name, alarm);
  return text;
}

std::string to_json(std::span<const FleetNode> nodes) {
  Json json = Json::array();
  for (const FleetNode& node : nodes) json.push_back(json_of(node));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_prometheus(std::span<const FleetNode> nodes) {
  std::string text =
      "# HELP tessera_up 1 when the member answers, or dials out and is heard.\n# TYPE tessera_up "
      "gauge\n";
  std::vector<NodeStatus> statuses;
  for (const FleetNode& node : nodes) {
    text += fmt::format("tessera_up{{node=\"{}\"}} {}\n", node.member.name, int{!node.lost()});
    if (!node.answered()) continue;
    statuses.push_back(node.status);
    statuses.back().alarms = node.alarms;
  }
  return text + to_prometheus(statuses);
}

}  // namespace tessera
