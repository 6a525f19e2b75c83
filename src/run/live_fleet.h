// A fleet as seen from one place: what every member of a roster answered, or why it did not, and
// what that means for a person who looks.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "live/link/member.h"
#include "live/status.h"

namespace tessera {

// What a node said of itself, read back from to_json(NodeStatus). It is another's word: what is
// missing or of the wrong kind counts as 0, and texts are cut and freed of control characters.
// Errors: "json".
Result<NodeStatus> parse_status(std::string_view json);

// One member's answer, and when it came by the clock of the process that asked.
struct FleetAnswer {
  Member member{};
  Result<std::string> report;                     // As JSON, or why there is none.
  std::chrono::milliseconds asked{}, answered{};  // Since 1970.
};

enum class FleetCondition {
  kAlive,
  kSlow,   // It answers, and is far behind the others.
  kLost,   // It does not answer.
  kHeard,  // It dials out and cannot be asked; others hear it.
};
std::string_view to_string(FleetCondition condition);

struct FleetNode {
  Member member{};
  FleetCondition condition = FleetCondition::kLost;
  std::string why{};                  // It is slow or lost.
  NodeStatus status{};                // Of one that answered.
  std::vector<std::string> alarms{};  // Its own, and what only the asker can see.
  bool answered() const {
    return condition == FleetCondition::kAlive || condition == FleetCondition::kSlow;
  }
  bool lost() const { return condition == FleetCondition::kLost; }
};

// In the order of the answers.
std::vector<FleetNode> judge(std::span<const FleetAnswer> answers);

}  // namespace tessera
