#include "sim/faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "base/spec.h"

namespace tessera {
namespace {

constexpr std::array kFaults = {
    FaultKind{"loss", "loss=0.01", "the chance that a message is lost"},
    FaultKind{"duplicate", "duplicate=0.01", "the chance that it arrives twice"},
    FaultKind{"reorder", "reorder=0.1@50ms", "the chance that it is held back, by up to so much"},
    FaultKind{"spike", "spike=0.001@5s", "the chance that it is held back by that much"},
    FaultKind{"partition", "partition=20s/40s",
              "from when until when (or never) two random halves of the nodes are cut off"},
    FaultKind{"crash", "crash=60s/5s", "the mean times a node stays up and down"},
    FaultKind{"memory", "memory=nothing",
              "what it comes back with: its last checkpoint (the default) or nothing"},
    FaultKind{"snapshot", "snapshot=10s", "how often a node saves itself"},
    FaultKind{"heal", "heal=100s", "from when on nothing goes wrong any more, but for the hostile"},
    FaultKind{"hostile", "hostile=2",
              "how many nodes attack the others, drawn from the seed; or which: hostile=n3/n7"},
    FaultKind{"attack", "hostile=2,attack=alie:z=1.5",
              "what they do (sign_flip by default), see: tessera list attacks"},
};

// "0.1@50ms": a chance and a length of time.
struct Chance {
  double chance = 0;
  Duration length{};
};

Chance chance_of(Options& options, std::string_view key) {
  const std::string text = options.text(key, "");
  if (text.empty()) return {};
  const std::size_t at = text.find('@');
  if (at == std::string::npos) options.refuse(key, "write CHANCE@TIME, such as 0.1@50ms");
  Chance chance;
  try {
    chance = {parse_number(text.substr(0, at)), parse_duration(text.substr(at + 1))};
  } catch (const std::invalid_argument& wrong) {
    options.refuse(key, wrong.what());
  }
  if (!(chance.chance >= 0 && chance.chance < 1) || chance.length < Duration::zero())
    options.refuse(key, "the chance must lie in [0, 1) and the time must not be negative");
  return chance;
}

// "20s/40s": two lengths of time; `never` stands for one that does not end.
std::pair<Duration, Duration> pair_of(Options& options, std::string_view key) {
  const std::string text = options.text(key, "");
  if (text.empty()) return {Duration::zero(), Duration::zero()};
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) options.refuse(key, "write TIME/TIME, such as 20s/40s");
  try {
    const std::string second = text.substr(slash + 1);
    return {parse_duration(text.substr(0, slash)),
            second == "never" ? Duration::max() : parse_duration(second)};
  } catch (const std::invalid_argument& wrong) {
    options.refuse(key, wrong.what());
  }
}

double chance_below_one(Options& options, std::string_view key) {
  const double chance = options.number(key, 0, between(0, 1));
  if (chance >= 1) options.refuse(key, "with a chance of one no message would ever arrive");
  return chance;
}

// "n3/n7": these nodes.
std::vector<NodeId> named_nodes(Options& options, std::uint32_t nodes) {
  std::vector<NodeId> named;
  for (const std::string& word : options.words("hostile", {})) {
    const bool digits = word.size() > 1 && word.size() < 9 && word[0] == 'n' &&
                        word.find_first_not_of("0123456789", 1) == word.npos;
    if (!digits) options.refuse("hostile", "write how many, or which nodes, such as n3/n7");
    named.push_back(static_cast<NodeId>(parse_integer(word.substr(1))));
    if (named.back() >= nodes)
      options.refuse("hostile", fmt::format("there is no node {} among {}", named.back(), nodes));
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return named;
}

std::vector<NodeId> read_hostile(Options& options, std::uint32_t nodes, Random random) {
  if (!options.has("hostile")) return {};
  std::vector<NodeId> hostile;
  if (options.text("hostile").starts_with('n')) {
    hostile = named_nodes(options, nodes);
  } else {
    const std::int64_t count = options.integer("hostile", 0, between(0, nodes));
    hostile = random.sample(nodes, static_cast<std::uint32_t>(count));
    std::sort(hostile.begin(), hostile.end());
  }
  if (hostile.size() == nodes)
    options.refuse("hostile", "at least one node must be honest: there is nothing to measure else");
  return hostile;
}

Duration exponential(Random random, Duration mean) {
  // At least a millisecond: a node that crashed the moment it came back would never do anything.
  constexpr double kLongest = 4e9;  // Seconds: a century, and still a Duration.
  const double seconds = -std::log1p(-random.uniform()) * to_seconds(mean);
  return Duration(static_cast<std::int64_t>(std::clamp(seconds, 1e-3, kLongest) * 1e9));
}

}  // namespace

std::span<const FaultKind> fault_kinds() {
  return kFaults;
}

Faults::Faults(FaultOptions options, std::uint32_t nodes, Random random)
    : options_(std::move(options)), random_(random), side_(nodes, false) {
  any_ = options_.loss > 0 || options_.duplicate > 0 || options_.reorder > 0 ||
         options_.spike > 0 || options_.cut != kNever || crashes();
  // Half of the nodes, whichever they are.
  std::vector<NodeId> order(nodes);
  std::iota(order.begin(), order.end(), NodeId{0});
  Random sides = random_.fork("sides");
  sides.shuffle(std::span<NodeId>(order));
  for (std::size_t i = 0; i < nodes / 2; ++i) side_[order[i]] = true;
}

Faults::Fate Faults::of_message(std::uint64_t serial, NodeId from, NodeId to, Instant now) const {
  if (!any_ || now >= options_.heal) return {};
  Random random = random_.fork("message", serial);
  Fate fate;
  fate.lost = cut_off(from, to, now) || random.uniform() < options_.loss;
  fate.doubled = random.uniform() < options_.duplicate;
  if (random.uniform() < options_.reorder)
    fate.held_back += Duration(static_cast<std::int64_t>(
        random.uniform() * static_cast<double>(options_.reorder_max.count())));
  if (random.uniform() < options_.spike) fate.held_back += options_.spike_length;
  return fate;
}

bool Faults::cut_off(NodeId a, NodeId b, Instant now) const {
  return now >= options_.cut && now < std::min(options_.mended, options_.heal) &&
         side_[a] != side_[b];
}

bool Faults::cut_for_ever(Instant now) const {
  return now >= options_.cut && options_.mended == kNever && options_.heal == kNever;
}

std::optional<Instant> Faults::crash_after(NodeId node, std::uint32_t life, Instant start) const {
  if (!crashes()) return std::nullopt;
  const Instant at =
      later(start, exponential(random_.fork("up", node).fork("life", life), options_.up_mean));
  return at < options_.heal ? std::optional(at) : std::nullopt;
}

Duration Faults::down_time(NodeId node, std::uint32_t life) const {
  return exponential(random_.fork("down", node).fork("life", life), options_.down_mean);
}

Faults make_faults(std::string_view text, std::uint32_t nodes, const Random& random) {
  if (text == "none") return {};
  Options options(parse_spec(fmt::format("faults:{}", text)));
  FaultOptions faults;
  faults.loss = chance_below_one(options, "loss");
  faults.duplicate = chance_below_one(options, "duplicate");
  const Chance reorder = chance_of(options, "reorder"), spike = chance_of(options, "spike");
  faults.reorder = reorder.chance;
  faults.reorder_max = reorder.length;
  faults.spike = spike.chance;
  faults.spike_length = spike.length;
  if (options.has("partition")) {
    const auto [cut, mended] = pair_of(options, "partition");
    if (mended <= cut) options.refuse("partition", "it must end after it begins");
    faults.cut = Instant(cut);
    faults.mended = Instant(mended);
  }
  if (options.has("crash")) {
    std::tie(faults.up_mean, faults.down_mean) = pair_of(options, "crash");
    if (faults.up_mean <= Duration::zero() || faults.down_mean <= Duration::zero() ||
        faults.down_mean == Duration::max())
      options.refuse("crash", "write the mean times a node stays up and down, such as 60s/5s");
  }
  constexpr std::array<std::string_view, 2> kMemories = {"checkpoint", "nothing"};
  faults.remembers = options.choice("memory", kMemories, "checkpoint") == "checkpoint";
  faults.snapshot_every = options.duration("snapshot", faults.snapshot_every);
  if (faults.snapshot_every <= Duration::zero())
    options.refuse("snapshot", "it must be longer than nothing");
  if (options.has("heal")) faults.heal = Instant(options.duration("heal", {}));
  faults.hostile = read_hostile(options, nodes, random.fork("hostile"));
  if (options.has("attack") && faults.hostile.empty())
    options.refuse("attack", "nobody is hostile: add hostile=2, or leave it out");
  faults.attack = make_attack(options.text("attack", "sign_flip"));
  options.done();
  return Faults(std::move(faults), nodes, random);
}

}  // namespace tessera
