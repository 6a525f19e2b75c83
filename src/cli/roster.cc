// `tessera roster add|remove|check|new-run`: who belongs to a run. A roster is a file that is
// copied to every member; these commands keep it in order.
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

namespace tessera {
namespace {

struct RosterArguments {
  std::string file{};
  std::string name{};
  std::string address{};
  std::string key{};
};

Roster read(const std::string& file) {
  return or_throw<std::invalid_argument>(Roster::read(file), "roster: ");
}

void write(const Roster& roster, const std::string& file) {
  or_throw(roster.write(file), "roster: ");
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

int add(const RosterArguments& arguments) {
  const bool exists = std::filesystem::exists(arguments.file);
  Roster roster = exists ? read(arguments.file) : Roster();
  const NodeId id = or_throw<std::invalid_argument>(
      roster.add(arguments.name, arguments.address, public_key(arguments.key)), "roster: ");
  if (roster.run() == 0) roster.set_run(draw_nonce());
  write(roster, arguments.file);
  print_out("{}: {} is node {} of {}\n", arguments.file, arguments.name, id,
            roster.members().size());
  return 0;
}

int remove(const RosterArguments& arguments) {
  Roster roster = read(arguments.file);
  or_throw<std::invalid_argument>(roster.remove(arguments.name), "roster: ");
  write(roster, arguments.file);
  print_out("{}: {} is out, {} stay; its id is not given to anyone else\n", arguments.file,
            arguments.name, roster.members().size());
  return 0;
}

int new_run(const RosterArguments& arguments) {
  const bool exists = std::filesystem::exists(arguments.file);
  Roster roster = exists ? read(arguments.file) : Roster();
  roster.set_run(draw_nonce());
  write(roster, arguments.file);
  print_out(
      "{}: run {}; copy it to every machine. Folders of earlier runs are refused: each node "
      "needs a new one\n",
      arguments.file, show_run(roster.run()));
  return 0;
}

int show(const RosterArguments& arguments) {
  const Roster roster = read(arguments.file);
  for (const Member& member : roster.members())
    print_out("{:>5}  {:<20} {:<28} {}\n", member.id, member.name, member.address,
              member.public_key);
  if (roster.run() == 0)
    throw std::invalid_argument(
        fmt::format("roster: {0} does not say which run it is of: tessera roster new-run {0}, then "
                    "copy it to every machine",
                    arguments.file));
  print_out("{}: {} members, in order; run {}\n", arguments.file, roster.members().size(),
            show_run(roster.run()));
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
  CLI::App* adding = command("add", "Adds a member; makes the file where there is none", add);
  adding->add_option("name", arguments->name, "The member's name")->required();
  adding->add_option("address", arguments->address, "Where it listens, as host:port")->required();
  adding->add_option("key", arguments->key, "Its public key, or the .pub file")->required();
  CLI::App* removing = command("remove", "Removes a member", remove);
  removing->add_option("name", arguments->name, "The member's name")->required();
  command("check", "Says who is in it, or what is wrong with it", show);
  command("new-run", "Makes it the roster of a new run, with the same members", new_run);
  parser.footer(
      "Examples:\n"
      "  tessera roster add network.toml alice 10.0.0.1:7400 alice.pub\n"
      "  tessera roster check network.toml\n"
      "  tessera roster new-run network.toml");
  return [arguments, action](const std::string&) { return (*action)(*arguments); };
}

}  // namespace tessera
