#include "cli/live_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/interrupt.h"
#include "live/status_question.h"

namespace tessera {
namespace {

// A line of progress may not keep the launcher from its nodes: who answers at all does so at once.
constexpr Duration kAskPatience = std::chrono::milliseconds(100);
constexpr double kAskSeconds = 0.5, kAskAgainSeconds = 10;
constexpr double kShowOnTerminalSeconds = 0.5, kShowSeconds = 5;

}  // namespace

void ClusterProgress::show(const std::vector<Child>& children) {
  const double every = line_.on_terminal() ? kShowOnTerminalSeconds : kShowSeconds;
  if (line_.quiet() || watch_.seconds() - shown_at_ < every) return;
  shown_at_ = watch_.seconds();
  std::uint64_t slowest = ~0ull, fastest = 0, answered = 0, rounds = 0;
  double accuracy = 0, tested = 0, bytes = 0;
  for (const Child& child : children) {
    if (watch_.seconds() - shown_at_ > kAskSeconds || interrupted()) break;
    const auto answer = ask(child);
    const nlohmann::json json = nlohmann::json::parse(answer.value_or(""), nullptr, false);
    if (json.is_discarded()) continue;
    ++answered;
    slowest = std::min(slowest, json["round"].get<std::uint64_t>());
    fastest = std::max(fastest, json["round"].get<std::uint64_t>());
    rounds = json["rounds"].get<std::uint64_t>();
    if (json["evaluated_round"] != 0 && json["accuracy"].is_number())
      accuracy += json["accuracy"].get<double>(), ++tested;
    bytes += json["bytes_sent"].get<double>();
  }
  if (answered == 0) return;
  const auto count = static_cast<double>(answered);
  line_.show(
      fmt::format("round {} to {}{}  {}sent {} per node  {} of {} nodes answer", slowest, fastest,
                  rounds > 0 ? fmt::format(" of {}", rounds) : "",
                  tested > 0 ? fmt::format("accuracy {:.1f}%  ", 100 * accuracy / tested) : "",
                  show_bytes(bytes / count), answered, children.size()));
}

// One that is frozen is left alone for a while; one that is not there yet says so at once.
std::optional<std::string> ClusterProgress::ask(const Child& child) {
  const double now = watch_.seconds();
  const auto frozen = ask_again_at_.find(child.id);
  if (child.pid == 0 || (frozen != ask_again_at_.end() && now < frozen->second))
    return std::nullopt;
  const auto answer = ask_status(child.folder / "status.sock", "json", kAskPatience);
  if (answer.ok()) return *answer;
  if (watch_.seconds() - now > to_seconds(kAskPatience) / 2)
    ask_again_at_[child.id] = now + kAskAgainSeconds;
  return std::nullopt;
}

}  // namespace tessera
