#include "cli/live_cluster.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <stdexcept>

#include "base/files.h"
#include "base/text.h"
#include "cli/child_process.h"
#include "live/link/keys.h"
#include "live/nonce.h"
#include "live/roster.h"
#include "run/live_identity.h"
#include "run/live_settings.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Below the ports the kernel gives to outgoing connections: one of those could be in use by a
// neighbour just when a node that was killed wants its own back.
constexpr int kFirstPort = 20'000, kPorts = 12'000;

bool is_free(int port) {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free =
      probe >= 0 && ::bind(probe, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  if (probe >= 0) ::close(probe);
  return free;
}

// Clusters that start at the same time look in different places first.
std::vector<int> free_ports(std::size_t count) {
  std::vector<int> ports;
  const int first = static_cast<int>(::getpid()) * 127 % kPorts;
  for (int i = 0; i < kPorts && ports.size() < count; ++i)
    if (const int port = kFirstPort + (first + i) % kPorts; is_free(port)) ports.push_back(port);
  if (ports.size() < count)
    throw std::runtime_error(
        fmt::format("{} free ports are needed and only {} were found", count, ports.size()));
  return ports;
}

std::string with_id(std::string_view text, NodeId id) {
  std::string out(text);
  for (std::size_t at = 0; (at = out.find("{id}", at)) != out.npos;)
    out.replace(at, 4, std::to_string(id));
  return out;
}

// Members that never come. RFC 2606 keeps .invalid for names that nobody knows.
void add_absent(Roster& roster, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    or_throw(roster.add(fmt::format("absent-{}", i), fmt::format("absent-{}.invalid:20000", i),
                        make_key_pair().public_key));
}

}  // namespace

LiveCluster::LiveCluster(const Plan& plan, ClusterOptions options)
    : options_(std::move(options)), secrets_(options_.folder / "keys") {
  fs::remove_all(secrets_);
  fs::create_directories(secrets_);
  fs::permissions(secrets_, fs::perms::owner_all);
  fs::create_directories(options_.folder / "nodes");
  fs::create_directories(options_.folder / "logs");
  or_throw(write_file(secrets_ / "experiment.toml", bytes_of(to_toml(plan.experiment))));
  make_settings(plan);
}

void LiveCluster::make_settings(const Plan& plan) {
  const std::vector<int> ports = free_ports(plan.nodes);
  const std::span<const NodeId> hostile = plan.faults.hostile();
  Roster roster;
  // A run that is resumed stays the same run.
  roster.set_run(run_of_nodes(options_.folder / "nodes").value_or(draw_nonce()));
  for (NodeId id = 0; id < plan.nodes; ++id) {
    const std::string name = fmt::format("n{:02}", id);
    const KeyPair keys = or_throw(make_key_files(key_files(secrets_, name)));
    or_throw(roster.add(name, fmt::format("{}:{}", with_id(options_.host, id), ports[id]),
                        keys.public_key));
    Child child{.id = id,
                .hostile = std::binary_search(hostile.begin(), hostile.end(), id),
                .name = name,
                .settings = secrets_ / (name + ".toml"),
                .log = options_.folder / "logs" / (name + ".log"),
                .folder = options_.folder / "nodes" / name};
    LiveSettings settings{.name = name,
                          .key = name + ".key",
                          .roster = "roster.toml",
                          .experiment = "experiment.toml",
                          .folder = fs::absolute(child.folder).string(),
                          .checkpoint = options_.checkpoint,
                          .gather = options_.gather,
                          .linger = options_.linger,
                          .link = options_.link,
                          .log = options_.log,
                          .pace = options_.pace,
                          .skipped = options_.skipped};
    if (child.hostile) settings.attack = plan.faults.attack().spec;
    if (options_.record)
      settings.record = fs::absolute(options_.folder / "logs" / (name + ".events")).string();
    or_throw(write_file(child.settings, bytes_of(to_toml(settings))));
    std::error_code ignored;
    fs::remove(child.log, ignored);
    children_.push_back(std::move(child));
  }
  add_absent(roster, options_.absent);
  or_throw(roster.write(secrets_ / "roster.toml"));
}

LiveCluster::~LiveCluster() {
  signal_all(SIGKILL);
  for (const Child& child : children_)
    if (child.pid > 0) end_child(child.pid);
  std::error_code ignored;
  fs::remove_all(secrets_, ignored);
}

void LiveCluster::start(Child& child) {
  ChildCommand command{.log = child.log};
  for (const std::string_view word : split(options_.prefix, ' '))
    if (!word.empty()) command.words.push_back(with_id(word, child.id));
  for (const std::string& word :
       {options_.program.string(), std::string("node"), child.settings.string()})
    command.words.push_back(word);
  try {
    child.pid = start_child(std::move(command));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(fmt::format("cannot start {}: {}", child.name, error.what()));
  }
  child.ended.reset();
}

void LiveCluster::signal_all(int signal) {
  for (const Child& child : children_)
    if (child.pid > 0) ::kill(child.pid, signal);
}

std::vector<Child*> LiveCluster::reap() {
  std::vector<Child*> ended;
  for (Child& child : children_) {
    if (child.pid == 0) continue;
    const std::optional<int> code = ended_child(child.pid);
    if (!code) continue;
    child.pid = 0;
    child.ended = code;
    ended.push_back(&child);
  }
  return ended;
}

bool LiveCluster::any_running() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Child& child) { return child.pid > 0; });
}

std::optional<Round> saved_round(const Child& child) {
  std::optional<Round> newest;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(child.folder / "checkpoint", none)) {
    const std::string stem = entry.path().stem().string();
    Round round = 0;
    const auto [end, error] = std::from_chars(stem.data(), stem.data() + stem.size(), round);
    if (error == std::errc{} && end == stem.data() + stem.size() &&
        entry.path().extension() == ".bin")
      newest = std::max(newest.value_or(0), round);
  }
  return newest;
}

}  // namespace tessera
