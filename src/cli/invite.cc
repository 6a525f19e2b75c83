// `tessera invite NAME...`: a token for each machine that is to join a fleet. The first time it
// makes the fleet, too: its owner's key, its roster, and the settings of this machine's node.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/output.h"
#include "base/spec.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/live_home.h"
#include "live/invitation.h"
#include "live/link/keys.h"
#include "live/log_line.h"
#include "live/nonce.h"
#include "live/sign/signing.h"
#include "run/live_invite.h"
#include "run/plan.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

struct InviteArguments {
  HomeArguments home{};
  std::vector<std::string> names{};
  std::string valid = "24h";
  NodeId places = 0;
  // Of a fleet that is to be made.
  std::string address{};
  std::map<std::string, std::string> settings{};
};

// What a first member needs to be told.
std::map<std::string, std::string> first_settings(const InviteArguments& arguments) {
  const std::string& folder = arguments.home.folder;
  std::map<std::string, std::string> lines = arguments.settings;
  for (const char* needed : {"name", "experiment"})
    if (lines[needed].empty() || arguments.address.empty())
      throw std::invalid_argument(fmt::format(
          "there is no fleet in {} yet: to make one, --experiment=FILE says what is learnt, "
          "--name=NAME and --address=HOST:PORT who and where this machine is",
          folder));
  const std::string& name = lines["name"];
  if (const std::string fault = member_name_fault(name); !fault.empty())
    throw std::invalid_argument(fmt::format("--name={}: {}", name, fault));
  if (arguments.address == kDialsOut)
    throw std::invalid_argument(
        fmt::format("--address={}: newcomers knock at this machine, so it needs an address that "
                    "they can connect to; one that dials out can join by a token",
                    arguments.address));
  if (const std::string fault = address_fault(arguments.address); !fault.empty())
    throw std::invalid_argument(fmt::format("--address={}: {}", arguments.address, fault));
  if (lines["folder"].empty()) lines["folder"] = in_folder(folder, name).string();
  if (lines["guests"].empty()) lines["guests"] = in_folder(folder, "guests").string();
  if (lines["begin_with"].empty()) lines["begin_with"] = std::to_string(arguments.names.size() + 1);
  lines["key"] = key_files(folder, name).secret.string();
  lines["roster"] = in_folder(folder, kHomeRoster).string();
  return lines;
}

KeyPair owner_keys(const fs::path& secret) {
  if (fs::exists(secret)) return or_throw<std::invalid_argument>(read_signing_key(secret));
  const KeyPair keys = make_signing_pair();
  const KeyFiles files{secret, fs::path(secret).replace_extension(".pub")};
  or_throw<std::invalid_argument>(write_key_files(files, keys));
  print_err("{}: whoever has it says who is a member: keep it to yourself\n", secret.string());
  return keys;
}

KeyPair member_keys(const KeyFiles& files) {
  return or_throw<std::invalid_argument>(fs::exists(files.secret) ? read_key_file(files.secret)
                                                                  : make_key_files(files));
}

// Rounds that wait for ever stop at the first machine that is lost.
void warn_of_waiting(const LiveSettings& settings, NodeId places) {
  Experiment lines = settings.lines;
  lines.nodes = std::to_string(places);
  if (read_live_plan(lines).protocol.prepared.waits_for_ever)
    print_err(
        "note: rounds wait for whoever is lost for as long as that lasts; a patience, as in "
        "protocol=dpsgd:rounds=1000,patience=30s, lets the others go on\n");
}

// The roster is written last: where it is, all else is.
void make_fleet(const InviteArguments& arguments) {
  const std::string& folder = arguments.home.folder;
  const std::map<std::string, std::string> lines = first_settings(arguments);
  const std::string& name = lines.at("name");
  const NodeId places =
      arguments.places != 0 ? arguments.places : static_cast<NodeId>(arguments.names.size() + 1);
  warn_of_waiting(read_live_settings({}, lines), places);
  make_private_folder(folder);
  Roster roster;
  or_throw<std::invalid_argument>(
      roster.add(name, arguments.address, member_keys(key_files(folder, name)).public_key));
  or_throw<std::invalid_argument>(roster.set_places(places));
  roster.set_run(draw_nonce());
  or_throw<std::invalid_argument>(roster.sign(owner_keys(owner_key_of(arguments.home))));
  const fs::path file = in_folder(folder, name + ".toml");
  write_settings(file, lines);
  or_throw(roster.write(in_folder(folder, kHomeRoster)));
  print_err("{}: {} is node 0 of {}; start it with tessera node {}\n",
            in_folder(folder, kHomeRoster).string(), name, places, file.string());
}

void refuse_wrong_names(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (const std::string fault = member_name_fault(name); !fault.empty())
      throw std::invalid_argument(fmt::format("'{}': {}", name, fault));
    if (!seen.insert(name).second) throw std::invalid_argument(name + " is invited twice");
  }
}

// An invitation is a promise of a place.
void refuse_too_many(const LiveHome& home, const std::vector<Guest>& guests) {
  std::size_t wanted = home.roster.members().size();
  for (const Guest& guest : guests) wanted += home.roster.find(guest.name) == nullptr;
  if (wanted > home.roster.next_id())
    throw std::invalid_argument(fmt::format(
        "{} has {} places, and {} would be taken or promised: before its run begins, tessera "
        "roster places {} {} --sign={} makes room",
        home.settings.roster, home.roster.next_id(), wanted, home.settings.roster, wanted,
        "fleet.key"));
}

void write_tokens(const LiveHome& home, const InviteArguments& arguments) {
  const std::chrono::seconds until =
      std::chrono::duration_cast<std::chrono::seconds>(time_of_day()) +
      std::chrono::duration_cast<std::chrono::seconds>(parse_duration(arguments.valid));
  const Member& self = *home.roster.find(home.settings.name);
  if (self.dials_out())
    throw std::invalid_argument(
        fmt::format("{} dials out, so nobody can knock at it: --node=FILE names the settings of a "
                    "member that has an address",
                    self.name));
  const Bytes experiment = fingerprint(told_experiment(home.settings, home.roster));
  std::vector<Guest> guests = valid_guests(home);
  std::string tokens;
  for (const std::string& name : arguments.names) {
    if (name == self.name)
      throw std::invalid_argument(fmt::format("{} is the member to knock at", name));
    const KeyPair keys = make_key_pair();
    std::erase_if(guests, [&](const Guest& guest) { return guest.name == name; });
    guests.push_back({name, keys.public_key, until});
    tokens += fmt::format("{:<12} {}\n", name,
                          to_token({.secret_key = keys.secret_key,
                                    .member_key = self.public_key,
                                    .owner = home.owner.public_key,
                                    .experiment = experiment,
                                    .name = name,
                                    .address = self.address}));
  }
  refuse_too_many(home, guests);
  write_guests(home, guests);
  put_out(tokens);
}

int invite(const InviteArguments& arguments) {
  refuse_wrong_names(arguments.names);
  const bool is_new =
      arguments.home.node.empty() && !fs::exists(fs::path(arguments.home.folder) / kHomeRoster);
  if (is_new)
    make_fleet(arguments);
  else if (!arguments.address.empty() || arguments.places != 0)
    throw std::invalid_argument(
        fmt::format("there is a fleet in {} already: tessera invite NAME... is all it needs, and "
                    "--dir=FOLDER begins another",
                    arguments.home.folder));
  const LiveHome home = open_home(arguments.home);
  write_tokens(home, arguments);
  std::string names;
  for (const std::string& name : arguments.names) names += " " + name;
  for (const std::string& name : arguments.names)
    if (home.roster.find(name) != nullptr)
      print_err("{} is a member: who joins by this token takes its place\n", name);
  print_err(
      "each token is a secret for one machine, and holds for {}; there: tessera join TOKEN; "
      "then here: tessera accept{}\n",
      arguments.valid, names);
  return 0;
}

}  // namespace

Action add_invite(CLI::App& parser) {
  auto arguments = std::make_shared<InviteArguments>();
  parser
      .add_option("names", arguments->names, "The machines to invite, by the names they will have")
      ->required();
  add_home_options(parser, arguments->home);
  parser.add_option("--for", arguments->valid, "How long the tokens hold (default: 24h)");
  parser.add_option("--address", arguments->address,
                    "Of a new fleet: where this machine is reached, as host:port");
  parser.add_option("--places", arguments->places,
                    "Of a new fleet: how many nodes it has room for (default: all who are named)");
  add_setting_flags(parser, arguments->settings, {"key", "roster"});
  parser.footer(
      "The first time it makes the fleet. Flags of tessera node go into this machine's "
      "settings.\n\n"
      "Examples:\n"
      "  tessera invite bob carol --experiment=jwins.toml --name=alice --address=10.0.0.1:5555\n"
      "  tessera invite dave");
  return [arguments](const std::string&) { return invite(*arguments); };
}

}  // namespace tessera
