// `tessera roster add|observe|remove|replace|places|sign|check|new-run`: who belongs to a run. A
// roster is a file that every member has; these commands keep it in order.
#include "live/roster.h"
#include "base/output.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <stdexcept>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "live/link/keys.h"
#include "live/nonce.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

struct RosterArguments {
  std::string file{};
  std::string name{};
  std::string address{};
  std::string key{};
  NodeId places = 0;
  std::string owner_key{};  // To sign with after a change.
};

Roster read(const std::string& file) {
  return or_throw<std::invalid_argument>(Roster::read(file), "roster: ");
}

void sign(Roster& roster, const std::string& owner_key) {
  const KeyPair owner = or_throw<std::invalid_argument>(read_signing_key(owner_key), "roster: ");
  or_throw<std::invalid_argument>(roster.sign(owner), "roster: ");
}

// A changed roster, signed where that was asked for.
void write(Roster& roster, const RosterArguments& arguments) {
  if (!arguments.owner_key.empty()) sign(roster, arguments.owner_key);
  or_throw(roster.write(arguments.file), "roster: ");
  if (!roster.check_signature())
    print_err("{}: nobody takes it over before it is signed: tessera roster sign {} KEY\n",
              arguments.file, arguments.file);
}

std::string version_of(const Roster& roster) {
  return roster.has_owner() ? fmt::format("; version {}", roster.version()) : "";
}

// Both kinds of key look alike; a file that only its owner may read holds the one that is nobody
// else's business.
void refuse_private_key(const std::filesystem::path& file) {
  std::error_code missing;
  const auto others = std::filesystem::perms::group_read | std::filesystem::perms::others_read;
  const auto mode = std::filesystem::status(file, missing).permissions();
  if (missing || (file.extension() != ".key" && (mode & others) != std::filesystem::perms::none))
    return;
  throw std::invalid_argument(
      fmt::format("roster: {} is a private key, which must not leave its machine: give {}",
                  file.string(), std::filesystem::path(file).replace_extension(".pub").string()));
}

// The key itself, or the .pub file that holds it.
std::string public_key(const std::string& key) {
  if (is_public_key(key)) return key;
  refuse_private_key(key);
  const Result<std::string> text = read_text_file(key);
  if (!text)
    throw std::invalid_argument(fmt::format(
        "roster: '{}' is neither a public key of 40 characters nor a file that holds one", key));
  return std::string(trimmed(*text));
}

Roster read_or_begin(const std::string& file) {
  return std::filesystem::exists(file) ? read(file) : Roster();
}

int add(const RosterArguments& arguments) {
  Roster roster = read_or_begin(arguments.file);
  const NodeId id = or_throw<std::invalid_argument>(
      roster.add(arguments.name, arguments.address, public_key(arguments.key)), "roster: ");
  if (roster.run() == 0) roster.set_run(draw_nonce());
  write(roster, arguments);
  print_out("{}: {} is node {}; {} members{}\n", arguments.file, arguments.name, id,
            roster.members().size(), version_of(roster));
  return 0;
}

int observe(const RosterArguments& arguments) {
  Roster roster = read(arguments.file);
  or_throw<std::invalid_argument>(roster.add_observer(arguments.name, public_key(arguments.key)),
                                  "roster: ");
  write(roster, arguments);
  print_out("{}: {} may ask the members how they are, and nothing else{}\n", arguments.file,
            arguments.name, version_of(roster));
  return 0;
}

int remove(const RosterArguments& arguments) {
  Roster roster = read(arguments.file);
  const bool is_member = roster.find(arguments.name) != nullptr;
  or_throw<std::invalid_argument>(roster.remove(arguments.name), "roster: ");
  write(roster, arguments);
  if (!is_member) {
    print_out("{}: the observer {} is out{}\n", arguments.file, arguments.name, version_of(roster));
    return 0;
  }
  print_out("{}: {} is out, {} stay{}; its place is the next member's\n", arguments.file,
            arguments.name, roster.members().size(), version_of(roster));
  return 0;
}

int replace(const RosterArguments& arguments) {
  if (arguments.address.empty() && arguments.key.empty())
    throw std::invalid_argument("roster: replace needs --address or --key, or both");
  Roster roster = read(arguments.file);
  const NodeId id = or_throw<std::invalid_argument>(
      roster.replace(arguments.name, arguments.address,
                     arguments.key.empty() ? "" : public_key(arguments.key)),
      "roster: ");
  write(roster, arguments);
  print_out("{}: {} is still node {}, now at {}{}\n", arguments.file, arguments.name, id,
            roster.find(id)->address, version_of(roster));
  return 0;
}

int set_places(const RosterArguments& arguments) {
  Roster roster = read(arguments.file);
  or_throw<std::invalid_argument>(roster.set_places(arguments.places), "roster: ");
  write(roster, arguments);
  print_out("{}: {} members of {}{}\n", arguments.file, roster.members().size(), roster.next_id(),
            version_of(roster));
  return 0;
}

int sign(const RosterArguments& arguments) {
  Roster roster = read(arguments.file);
  write(roster, arguments);
  print_out("{}: version {}, signed by {}; running members take it over from each other\n",
            arguments.file, roster.version(), roster.owner());
  return 0;
}

int new_run(const RosterArguments& arguments) {
  Roster roster = read_or_begin(arguments.file);
  roster.set_run(draw_nonce());
  write(roster, arguments);
  print_out(
      "{}: run {}{}; copy it to every machine. Folders of earlier runs are refused: each node "
      "needs a new one\n",
      arguments.file, show_run(roster.run()), version_of(roster));
  return 0;
}

int show(const RosterArguments& arguments) {
  const Roster roster = read(arguments.file);
  for (const Member& member : roster.members())
    print_out("{:>5}  {:<20} {:<28} {}\n", member.id, member.name, member.address,
              member.public_key);
  for (const RosterObserver& observer : roster.observers())
    print_out("{:>5}  {:<20} {:<28} {}\n", "", observer.name, "observer", observer.public_key);
  if (roster.run() == 0)
    throw std::invalid_argument(
        fmt::format("roster: {0} does not say which run it is of: tessera roster new-run {0}, then "
                    "copy it to every machine",
                    arguments.file));
  or_throw<std::invalid_argument>(roster.check_signature(),
                                  fmt::format("roster: {}: ", arguments.file));
  print_out("{}: {} members, in order; run {}{}\n", arguments.file, roster.members().size(),
            show_run(roster.run()), version_of(roster));
  if (roster.has_owner()) print_out("owner {}\n", roster.owner());
  return 0;
}

}  // namespace

Action add_roster(CLI::App& parser) {
  auto arguments = std::make_shared<RosterArguments>();
  auto action = std::make_shared<int (*)(const RosterArguments&)>(nullptr);
  parser.require_subcommand(1);
  const auto command = [&](const char* name, const char* summary,
                           int (*run)(const RosterArguments&)) {
    CLI::App* sub = parser.add_subcommand(name, summary);
    sub->add_option("file", arguments->file, "The roster, a TOML file")->required();
    sub->callback([action, run] { *action = run; });
    return sub;
  };
  const auto change = [&](const char* name, const char* summary,
                          int (*run)(const RosterArguments&)) {
    CLI::App* sub = command(name, summary, run);
    sub->add_option("--sign", arguments->owner_key, "Sign it with this owner's key afterwards");
    return sub;
  };
  const char* const name = "The member's name";
  CLI::App* adding = change("add", "Adds a member; makes the file where there is none", add);
  adding->add_option("name", arguments->name, name)->required();
  adding
      ->add_option("address", arguments->address,
                   "Where it listens, as host:port; dials-out: nowhere")
      ->required();
  adding->add_option("key", arguments->key, "Its public key, or the .pub file")->required();
  CLI::App* observing =
      change("observe", "Adds an observer, who may see how members are and do nothing", observe);
  observing->add_option("name", arguments->name, "The observer's name")->required();
  observing->add_option("key", arguments->key, "Its public key, or the .pub file")->required();
  change("remove", "Removes a member or an observer", remove)
      ->add_option("name", arguments->name, "Its name")
      ->required();
  CLI::App* replacing = change("replace", "Another machine takes a member's place", replace);
  replacing->add_option("name", arguments->name, name)->required();
  replacing->add_option("--address", arguments->address, "Where it listens now, as host:port");
  replacing->add_option("--key", arguments->key, "Its new public key, or the .pub file");
  change("places", "How many ids there are, some of them for members to come", set_places)
      ->add_option("places", arguments->places, "Their number")
      ->required();
  command("sign", "Signs it as the next version, which running members take over", sign)
      ->add_option("key", arguments->owner_key, "The owner's .key file, of tessera keygen --owner")
      ->required();
  command("check", "Says who is in it, or what is wrong with it", show);
  change("new-run", "Makes it the roster of a new run, with the same members", new_run);
  parser.footer(
      "Examples:\n"
      "  tessera roster add network.toml alice 10.0.0.1:7400 alice.pub\n"
      "  tessera roster observe network.toml desk desk.pub\n"
      "  tessera roster sign network.toml fleet.key\n"
      "  tessera roster replace network.toml alice --key=new.pub --sign=fleet.key\n"
      "  tessera roster check network.toml\n"
      "  tessera roster new-run network.toml");
  return [arguments, action](const std::string&) { return (*action)(*arguments); };
}

}  // namespace tessera
