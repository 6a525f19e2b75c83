#include "run/live_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "live/link/agreement.h"
#include "report/json_depth.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kTextMax = 300, kListMax = 10'000;
constexpr std::chrono::milliseconds kClockOff(1000);
constexpr std::chrono::milliseconds kClockOffMax = std::chrono::hours(24 * 365 * 100);
// A node's own "asked at", so that moments before it can be told.
constexpr Instant kAskedAt = Instant(std::chrono::hours(24 * 365));

// One object of another's JSON.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  std::string text(const char* key) const {
    const Json* const found = find(key);
    return found != nullptr && found->is_string() ? clean(found->get_ref<const std::string&>())
                                                  : "";
  }
  // Missing ones, null and what is no number: none.
  std::optional<double> number(const char* key) const {
    const Json* const found = find(key);
    if (found == nullptr || !found->is_number()) return std::nullopt;
    return found->get<double>();
  }
  std::uint64_t count(const char* key) const {
    const double value = number(key).value_or(0);
    return value >= 0 && value < 1e18 ? static_cast<std::uint64_t>(value) : 0;
  }
  std::uint32_t small(const char* key) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(count(key), 0xffff'fffe));
  }
  WordCounts counts(const char* key) const {
    WordCounts counts;
    const Json* const found = find(key);
    if (found == nullptr || !found->is_object()) return counts;
    for (const auto& [word, value] : found->items())
      if (value.is_number_unsigned() && counts.size() < kListMax)
        counts[clean(word)] = value.get<std::uint64_t>();
    return counts;
  }
  // At most kListMax of what stands in a list.
  std::vector<const Json*> list(const char* key) const {
    std::vector<const Json*> all;
    const Json* const found = find(key);
    if (found == nullptr || !found->is_array()) return all;
    for (const Json& one : *found)
      if (all.size() < kListMax) all.push_back(&one);
    return all;
  }

  static std::string clean(std::string_view text) {
    return without_controls(text.substr(0, kTextMax));
  }

 private:
  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& json_;
};

PeerCondition condition_of(std::string_view word) {
  for (const PeerCondition known :
       {PeerCondition::kConnecting, PeerCondition::kAlive, PeerCondition::kSilent,
        PeerCondition::kLost, PeerCondition::kRefused, PeerCondition::kGone, PeerCondition::kIdle})
    if (to_string(known) == word) return known;
  return PeerCondition::kConnecting;
}

PeerState peer_of(const Fields& from) {
  PeerState peer{.id = from.small("id"),
                 .name = from.text("name"),
                 .condition = condition_of(from.text("condition")),
                 .reason = from.text("reason"),
                 .connections = from.count("connections")};
  const double heard = from.number("heard_seconds_ago").value_or(-1);
  if (heard >= 0 && heard < 1e7) peer.last_heard = kAskedAt - Duration(std::llround(heard * 1e9));
  peer.out.queued_bytes = from.count("queued_bytes");
  peer.out.unconfirmed_bytes = from.count("unconfirmed_bytes");
  peer.out.messages = from.count("messages_out");
  peer.out.bytes = from.count("bytes_out");
  peer.in.messages = from.count("messages_in");
  peer.in.bytes = from.count("bytes_in");
  return peer;
}

// The round that half of those who answered have completed.
Round median_round(std::span<const FleetNode> nodes) {
  std::vector<Round> rounds;
  for (const FleetNode& node : nodes)
    if (node.answered()) rounds.push_back(node.status.round);
  if (rounds.empty()) return 0;
  const auto middle = rounds.begin() + static_cast<std::ptrdiff_t>(rounds.size() / 2);
  std::nth_element(rounds.begin(), middle, rounds.end());
  return *middle;
}

// Three rounds and a quarter of them.
bool is_far_behind(Round round, Round median) {
  return median >= 3 && round <= median - 3 && 4.0 * round < 3.0 * median;
}

// Whoever of the others heard it last, and when.
std::string last_heard_of(NodeId id, std::span<const FleetNode> nodes) {
  std::optional<double> ago;
  std::string by;
  for (const FleetNode& node : nodes) {
    for (const PeerState& peer : node.status.links.peers) {
      if (!node.answered() || peer.id != id || peer.last_heard == Instant{}) continue;
      const double seconds = to_seconds(node.status.links.asked_at - peer.last_heard);
      if (ago && *ago <= seconds) continue;
      ago = seconds;
      by = node.member.name;
    }
  }
  return ago ? fmt::format("; {} heard it {:.0f} s ago", by, *ago) : "";
}

bool is_heard(NodeId id, std::span<const FleetNode> nodes) {
  return std::ranges::any_of(nodes, [&](const FleetNode& node) {
    const std::vector<PeerState>& peers = node.status.links.peers;
    return std::ranges::any_of(
        peers, [&](const PeerState& peer) { return peer.id == id && peer.alive(); });
  });
}

// "round 3 from nodes 1, 2" as people know them, "round 3 from bob, carol".
std::string with_names(const std::string& text, std::span<const FleetNode> nodes) {
  const std::size_t from = text.find(" from node");
  const std::size_t list = text.find_first_of("0123456789", from);
  if (from == text.npos || list == text.npos) return text;
  std::string names;
  for (const std::string_view number : split(std::string_view(text).substr(list), ',')) {
    const auto known = std::ranges::find(nodes, trimmed(number), [](const FleetNode& node) {
      return std::to_string(node.member.id);
    });
    if (known == nodes.end()) return text;
    names += (names.empty() ? "" : ", ") + known->member.name;
  }
  return fmt::format("{} from {}", text.substr(0, from), names);
}

// Between the question and its answer the clock there has shown a moment in between.
std::string clock_fault(const FleetAnswer& answer, std::chrono::milliseconds theirs) {
  if (theirs.count() == 0) return {};
  const auto early = answer.asked - theirs, late = theirs - answer.answered;
  if (early <= kClockOff && late <= kClockOff) return {};
  return fmt::format("CLOCK: it is {} {} this machine's",
                     show_duration(std::min(std::max(early, late), kClockOffMax)),
                     early > late ? "behind" : "ahead of");
}

FleetNode read_answer(const FleetAnswer& answer) {
  FleetNode node{.member = answer.member};
  if (!answer.report) {
    node.why = answer.report.error().message;
    return node;
  }
  Result<NodeStatus> status = parse_status(*answer.report);
  if (!status) {
    node.why = "its answer cannot be read: " + status.error().message;
    return node;
  }
  node.condition = FleetCondition::kAlive;
  node.status = std::move(*status);
  // Whose answer it is comes from its key, not from what it says.
  node.status.name = answer.member.name;
  node.status.id = answer.member.id;
  node.alarms = node.status.alarms;
  if (std::string fault = clock_fault(answer, node.status.origin.time); !fault.empty())
    node.alarms.push_back(std::move(fault));
  return node;
}

}  // namespace

Result<NodeStatus> parse_status(std::string_view text) {
  const Error unreadable{"json", "it is not what a node says of itself"};
  if (is_too_deep(text)) return unreadable;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return unreadable;
  const Fields from(json);
  NodeStatus status{
      .name = from.text("name"),
      .id = from.small("id"),
      .state = from.text("state"),
      .waiting_for = from.text("waiting_for"),
      .round = from.small("round"),
      .rounds = from.small("rounds"),
      .age = from.count("age"),
      .seconds = from.number("seconds").value_or(0),
      .seconds_left = from.number("seconds_left"),
      .work = {.skipped = from.count("rounds_skipped"), .alone = from.count("trainings_alone")},
      .learning = {.train_loss = from.number("train_loss").value_or(NAN),
                   .evaluated_round = from.small("evaluated_round"),
                   .accuracy = from.number("accuracy").value_or(NAN),
                   .loss = from.number("loss").value_or(NAN)},
      .sent = {.messages = from.count("messages_sent"), .bytes = from.count("bytes_sent")},
      .checkpoints = from.count("checkpoints"),
      .refusals = from.counts("refusals"),
      .notes = from.counts("notes"),
      .links = {.refusals = from.counts("link_refusals"), .asked_at = kAskedAt},
      .origin = {.version = from.text("version"),
                 .time = std::chrono::milliseconds(from.count("time_ms"))}};
  for (const Json* alarm : from.list("alarms"))
    if (alarm->is_string())
      status.alarms.push_back(Fields::clean(alarm->get_ref<const std::string&>()));
  for (const Json* peer : from.list("peers"))
    if (peer->is_object()) status.links.peers.push_back(peer_of(Fields(*peer)));
  for (const Json* id : from.list("neighbours"))
    if (id->is_number_unsigned()) status.origin.neighbours.push_back(id->get<NodeId>());
  return status;
}

std::string_view to_string(FleetCondition condition) {
  switch (condition) {
    case FleetCondition::kAlive:
      return "alive";
    case FleetCondition::kSlow:
      return "slow";
    case FleetCondition::kLost:
      return "lost";
    case FleetCondition::kHeard:
      return "heard";
  }
  CHECK(!"a condition without a name");
  return {};
}

std::vector<FleetNode> judge(std::span<const FleetAnswer> answers) {
  std::vector<FleetNode> nodes;
  for (const FleetAnswer& answer : answers) nodes.push_back(read_answer(answer));
  const Round median = median_round(nodes);
  for (FleetNode& node : nodes) {
    node.status.waiting_for = with_names(node.status.waiting_for, nodes);
    if (!node.answered()) {
      node.why += last_heard_of(node.member.id, nodes);
      if (node.member.dials_out() && is_heard(node.member.id, nodes))
        node.condition = FleetCondition::kHeard;
    } else if (is_far_behind(node.status.round, median)) {
      node.condition = FleetCondition::kSlow;
      node.why = fmt::format("behind: round {}, where half of the others have done {}",
                             node.status.round, median);
    }
  }
  return nodes;
}

}  // namespace tessera
