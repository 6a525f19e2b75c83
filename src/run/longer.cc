#include "run/longer.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "learn/device.h"

namespace tessera {
namespace {

std::optional<Plan> plan_in(const std::filesystem::path& folder) {
  try {
    return read_plan(read_experiment(folder / "config.toml"));
  } catch (const std::exception&) {  // None there, or another version's: whoever resumes says so.
    return std::nullopt;
  }
}

// Zero rounds are any number of them.
Round rounds_of(const PreparedProtocol& protocol) {
  return protocol.rounds > 0 ? protocol.rounds : std::numeric_limits<Round>::max();
}

void refuse_what_knows_the_length(const Experiment& experiment) {
  if (parse_training(experiment.training).schedule.wants_length())
    throw std::invalid_argument(fmt::format(
        "training={} falls until the end of the run, so a longer one would have learnt otherwise "
        "from the beginning: say length=… when it begins, or use --overwrite",
        experiment.training));
  if (Options(parse_spec(experiment.sharing)).has("schedule"))
    throw std::invalid_argument(
        fmt::format("sharing={} has a schedule in parts of the run, so a longer one would have "
                    "shared otherwise from the beginning: use --overwrite",
                    experiment.sharing));
  if (!experiment.merge.empty())
    throw std::invalid_argument(fmt::format(
        "merge={} makes a run that cannot be made longer: use --overwrite", experiment.merge));
}

}  // namespace

std::string toml_of_same_run(Experiment experiment) {
  Spec protocol = parse_spec(experiment.protocol);
  std::erase_if(protocol.options, [](const auto& option) {
    return option.first == "rounds" || option.first == "until";
  });
  experiment.protocol = to_string(protocol);
  experiment.device = without_place(experiment.device);
  return to_toml(experiment);
}

bool same_end(const Plan& before, const Plan& now) {
  const PreparedProtocol& was = before.protocol.prepared;
  const PreparedProtocol& is = now.protocol.prepared;
  return rounds_of(is) == rounds_of(was) && is.until == was.until;
}

std::optional<Plan> plan_to_go_on_from(const std::filesystem::path& folder, const Plan& now) {
  std::optional<Plan> before = plan_in(folder);
  if (!before || to_toml(before->experiment) == to_toml(now.experiment)) return std::nullopt;
  if (toml_of_same_run(before->experiment) != toml_of_same_run(now.experiment)) return std::nullopt;
  if (same_end(*before, now)) return before;
  const PreparedProtocol& was = before->protocol.prepared;
  const PreparedProtocol& is = now.protocol.prepared;
  if (rounds_of(is) < rounds_of(was) || is.until < was.until)
    throw std::invalid_argument(
        fmt::format("{} is of protocol={}, and --resume makes a run longer, not shorter: choose "
                    "another --out",
                    folder.string(), before->experiment.protocol));
  refuse_what_knows_the_length(now.experiment);
  return before;
}

}  // namespace tessera
