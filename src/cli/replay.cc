// `tessera replay`: what happened once, again: the events a live node recorded, or a random world
// of the swarm that failed its test.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/output.h"
#include "base/spec.h"
#include "cli/command.h"
#include "run/swarm.h"
#if TESSERA_WITH_LIVE
#include "run/live_replay.h"
#endif

namespace tessera {
namespace {

struct ReplayArguments {
  std::string file{};
  std::string swarm{};
};

// One world, told in full.
int replay_world(std::uint64_t seed) {
  print_out("{}\n", describe(swarm_world(seed)));
  const Result<SwarmStory> story = run_swarm_world(seed);
  if (!story) {
    print_err("tessera: world {}: {}\n", seed, story.error().message);
    return 1;
  }
  print_out("{} events, {} messages, {} crashes, {} refusals in {:.3f} s; digest {:016x}\n",
            story->events, story->messages, story->crashes, story->refused, story->virtual_seconds,
            story->digest);
  return 0;
}

// Many: the ones that fail are named, and the rest counted.
int replay_worlds(std::uint64_t first, std::uint64_t last) {
  std::uint64_t failed = 0, messages = 0, crashes = 0, hostile = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Result<SwarmStory> story = run_swarm_world(seed);
    if (!story) {
      ++failed;
      print_out("world {}: {}\n", seed, story.error().message);
      continue;
    }
    messages += story->messages;
    crashes += story->crashes;
    hostile += story->hostile > 0;
  }
  print_out("{} worlds, {} with hostile nodes, {} failed; {} messages, {} crashes\n",
            last - first + 1, hostile, failed, messages, crashes);
  return failed == 0 ? 0 : 1;
}

int replay_swarm(const std::string& text) {
  const std::size_t dots = text.find("..");
  const std::int64_t first = parse_integer(text.substr(0, dots));
  const std::int64_t last =
      dots == std::string::npos ? first : parse_integer(text.substr(dots + 2));
  if (first < 0 || last < first)
    throw std::invalid_argument(fmt::format("--swarm={}: write a number, or FIRST..LAST", text));
  if (dots == std::string::npos) return replay_world(static_cast<std::uint64_t>(first));
  return replay_worlds(static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last));
}

#if TESSERA_WITH_LIVE
int replay_recording(const std::string& file) {
  const auto [id, story] = replay_live_log(file);
  print_out("node {}: {} events, {} trainings, {} rounds, digest {:016x}{}\n", id, story.events,
            story.trainings, story.rounds, story.model_digest,
            story.torn ? " (the log's end is torn off)" : "");
  if (story.difference.empty()) return 0;
  print_err("tessera: {}: differs from the live run {}\n", file, story.difference);
  return 1;
}
#endif

int replay(const ReplayArguments& arguments) {
  if (arguments.file.empty() == arguments.swarm.empty())
    throw std::invalid_argument("replay: name a recorded file, or a world by --swarm=NUMBER");
  if (!arguments.swarm.empty()) return replay_swarm(arguments.swarm);
#if TESSERA_WITH_LIVE
  return replay_recording(arguments.file);
#else
  throw std::invalid_argument(
      "replay: this program was built without ZeroMQ, so it has no live nodes to replay");
#endif
}

}  // namespace

Action add_replay(CLI::App& parser) {
  auto arguments = std::make_shared<ReplayArguments>();
  parser.add_option("file", arguments->file, "What tessera node --record wrote");
  parser.add_option("--swarm", arguments->swarm,
                    "A random world with faults by its number, or FIRST..LAST of them");
  parser.footer(
      "Exit codes: 0 the same to the bit, or all that must hold held; 1 not; 2 asked wrongly.\n\n"
      "Examples:\n"
      "  tessera replay alice.log\n"
      "  tessera replay --swarm=1558\n"
      "  tessera replay --swarm=0..99999");
  return [arguments](const std::string&) { return replay(*arguments); };
}

}  // namespace tessera
