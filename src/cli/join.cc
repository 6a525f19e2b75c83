// `tessera join TOKEN`: this machine becomes a member of a fleet, and runs its node. Interrupted
// and typed again, it goes on where it was.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>

#include "base/files.h"
#include "base/output.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/live_home.h"
#include "cli/live_node.h"
#include "data/partition.h"
#include "live/invitation.h"
#include "live/link/keys.h"
#include "live/link/names.h"
#include "live/link/own_address.h"
#include "run/live_invite.h"
#include "run/plan.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr int kUsualPort = 5555;
constexpr const char* kExperimentFile = "experiment.toml";

struct JoinArguments {
  std::string token{};
  std::string folder = ".";
  std::string address{};
  std::map<std::string, std::string> settings{};
};

// What lies on this machine of one membership.
struct Place {
  Place(const std::string& in, const std::string& name)
      : keys(key_files(in, name)),
        settings(in_folder(in, name + ".toml")),
        roster(in_folder(in, kHomeRoster)),
        experiment(in_folder(in, kExperimentFile)),
        records(in_folder(in, name)) {}
  KeyFiles keys;
  fs::path settings, roster, experiment, records;
};

// Where this machine is reached. From when others are told until it listens there, the port is
// claimed, so that no other node of this machine announces the same.
struct Reached {
  std::string address{};
  std::optional<PortClaim> claim{};
};

Reached reached_at(std::string address) {
  if (address == kDialsOut) return {std::move(address)};
  const int port = std::stoi(std::string(split_address(address).port));
  return {std::move(address), PortClaim::make(port)};
}

// Where this machine was let in before, by the same owner.
std::optional<Reached> member_already(const Place& place, const Invitation& invitation,
                                      const KeyPair& keys) {
  if (!fs::exists(place.settings)) return std::nullopt;
  const Roster roster = or_throw<std::invalid_argument>(Roster::read(place.roster));
  const Member* const self = roster.find(invitation.name);
  if (roster.owner() == invitation.owner && self != nullptr && self->public_key == keys.public_key)
    return reached_at(self->address);
  throw std::invalid_argument(
      fmt::format("{} is of another fleet or another {}: join in a folder of its own, --dir=FOLDER",
                  place.roster.string(), invitation.name));
}

// As it is said, or else found out. The member to knock at may be on this machine, and not listen
// yet.
Reached choose_address(const JoinArguments& arguments, const Invitation& invitation) {
  if (!arguments.address.empty()) {
    if (const std::string fault = member_address_fault(arguments.address); !fault.empty())
      throw std::invalid_argument(fmt::format("--address={}: {}", arguments.address, fault));
    return reached_at(arguments.address);
  }
  const std::string host = or_throw(own_host_towards(invitation.address));
  const auto [member_host, member_port] = split_address(invitation.address);
  PortClaim claim = or_throw(
      claim_unused_port(kUsualPort, host == member_host ? std::stoi(std::string(member_port)) : 0));
  std::string address = fmt::format("{}:{}", host, claim.port());
  print_err(
      "{} will be reached at {}; where that is wrong, say --address=HOST:PORT, or "
      "--address={} where nobody can connect to it\n",
      invitation.name, address, kDialsOut);
  return {std::move(address), std::move(claim)};
}

std::map<std::string, std::string> settings_of(const Place& place, const JoinArguments& arguments,
                                               const std::string& name) {
  std::map<std::string, std::string> lines = arguments.settings;
  lines["name"] = name;
  lines["key"] = place.keys.secret.string();
  lines["roster"] = place.roster.string();
  lines["experiment"] = place.experiment.string();
  if (lines["folder"].empty()) lines["folder"] = place.records.string();
  return lines;
}

// What will not work with this machine's data or program is said before the owner is asked.
void check_experiment(const std::string& text, const std::string& data) {
  Experiment lines = parse_experiment(text, "the fleet's experiment");
  const bool own_data = read_partition(lines.partition).kind->own_data;
  if (own_data && data.empty())
    throw std::invalid_argument(fmt::format(
        "every machine of this fleet has its own data: --data={}:... says where it lies here",
        lines.data));
  if (!own_data && !data.empty())
    throw std::invalid_argument(fmt::format(
        "--data={}: the machines of this fleet share the data that the experiment names, {}", data,
        lines.data));
  if (own_data) lines.data = data;
  (void)read_live_plan(lines);
}

// The settings are written last: where they are, all else is.
void settle(const Place& place, const LetIn& joined,
            const std::map<std::string, std::string>& lines) {
  or_throw(write_file(place.experiment, bytes_of(std::string_view(joined.experiment))));
  or_throw(joined.roster.write(place.roster));
  write_settings(place.settings, lines);
}

// From the standard input, a token is seen by nobody who lists processes.
std::string read_token(const std::string& argument) {
  std::string token = argument;
  if (argument == "-") std::getline(std::cin, token);
  return token;
}

int join(const JoinArguments& arguments) {
  const Invitation invitation =
      or_throw<std::invalid_argument>(parse_token(read_token(arguments.token)));
  const Place place(arguments.folder, invitation.name);
  make_private_folder(arguments.folder);
  const KeyPair keys = or_throw<std::invalid_argument>(fs::exists(place.keys.secret)
                                                           ? read_key_file(place.keys.secret)
                                                           : make_key_files(place.keys));
  std::optional<Reached> at = member_already(place, invitation, keys);
  if (!at) {
    at = choose_address(arguments, invitation);
    print_err("{} has the key {}\n", invitation.name, keys.public_key);
    listen_for({SIGINT, SIGTERM, SIGHUP}, SecondSignal::kEndsAtOnce);
    const auto data = arguments.settings.find("data");
    Result<LetIn> joined = knock_until_let_in(
        {.invitation = invitation,
         .keys = keys,
         .address = at->address,
         .say = [](std::string_view line) { print_err("{}\n", line); },
         .on_experiment = [&](const std::string& text) { check_experiment(text, data->second); },
         .stop = interrupted});
    if (!joined && joined.error().kind == "stopped") {
      print_err("{}\n", joined.error().message);
      return kInterrupted;
    }
    settle(place, or_throw<std::invalid_argument>(std::move(joined)),
           settings_of(place, arguments, invitation.name));
    print_err("{} is let in; from now on tessera node {} does the same\n", invitation.name,
              place.settings.string());
  }
  // A summary says what was typed, and a token is a secret.
  return run_node(read_live_settings(place.settings, arguments.settings), {},
                  fmt::format("tessera node {}", place.settings.string()));
}

}  // namespace

Action add_join(CLI::App& parser) {
  auto arguments = std::make_shared<JoinArguments>();
  parser
      .add_option("token", arguments->token,
                  "What tessera invite wrote for this machine; - reads it from the input")
      ->required();
  parser.add_option("--dir", arguments->folder,
                    "Where key, roster and settings go; made if need be (default: here)");
  parser.add_option("--address", arguments->address,
                    "Where this machine is reached, as host:port, or dials-out where nobody can "
                    "connect to it, as behind a NAT (default: the address it has towards the "
                    "member, and port 5555 or the next that is free)");
  add_setting_flags(parser, arguments->settings,
                    {"name", "key", "roster", "experiment", "guests", "begin_with"});
  parser.footer(
      "Makes this machine's key, knocks at the member that the token names, waits until the owner "
      "lets it in,\nand runs as tessera node does, with the same exit codes. Typed again it goes "
      "on where it was.\n\n"
      "Examples:\n"
      "  tessera join tessera-1-... --data=csv:file=/srv/readings.csv\n"
      "  tessera join tessera-1-... --address=dials-out");
  return [arguments](const std::string&) { return join(*arguments); };
}

}  // namespace tessera
