// `tessera accept NAME...`: lets those who joined by a token into the fleet. The roster is changed
// and signed; running members hand it on.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "base/output.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/live_home.h"

namespace tessera {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(200);

struct AcceptArguments {
  HomeArguments home{};
  std::vector<std::string> names{};
  bool yes = false;
  bool refuse = false;
};

bool is_let_in(const Roster& roster, const Knocker& knocker) {
  const Member* const member = roster.find(knocker.name);
  return member != nullptr && member->public_key == knocker.said.public_key;
}

// Those who knocked with an invitation that holds, and are not members yet.
std::vector<Knocker> waiting_at(const LiveHome& home) {
  const std::vector<Guest> guests = valid_guests(home);
  std::vector<Knocker> waiting = or_throw<std::invalid_argument>(read_knockers(home.guests()));
  std::erase_if(waiting, [&](const Knocker& knocker) {
    const auto invited = [&](const Guest& guest) {
      return guest.name == knocker.name && guest.key == knocker.key;
    };
    return is_let_in(home.roster, knocker) || std::none_of(guests.begin(), guests.end(), invited);
  });
  return waiting;
}

const Knocker* find_knocker(const std::vector<Knocker>& all, std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Knocker& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void refuse_uninvited(const LiveHome& home, const std::vector<std::string>& names) {
  const std::vector<Guest> guests = valid_guests(home);
  std::vector<std::string_view> known;
  for (const Guest& guest : guests) known.push_back(guest.name);
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw std::invalid_argument(
          known.empty()
              ? fmt::format("{} is not invited, and nobody else is: tessera invite {}", name, name)
              : fmt::format("{} is not invited.{}", name, suggestion(name, known)));
}

// Waits for all of them to knock; nothing when it was interrupted.
std::optional<std::vector<Knocker>> await_knocks(const LiveHome& home,
                                                 const std::vector<std::string>& names) {
  listen_for({SIGINT, SIGTERM}, SecondSignal::kEndsAtOnce);
  bool told = false;
  while (!interrupted()) {
    const std::vector<Knocker> waiting = waiting_at(home);
    std::vector<Knocker> chosen;
    std::string missing;
    for (const std::string& name : names)
      if (const Knocker* const knocker = find_knocker(waiting, name))
        chosen.push_back(*knocker);
      else
        missing += (missing.empty() ? "" : ", ") + name;
    if (missing.empty()) return chosen;
    if (!told) print_err("waiting for {} to knock\n", missing);
    told = true;
    std::this_thread::sleep_for(kLookEvery);
  }
  return std::nullopt;
}

void show(const LiveHome& home, const Knocker& knocker) {
  const Member* const before = home.roster.find(knocker.name);
  std::string place;
  if (before != nullptr)
    place = before->dials_out() ? "  in place of one that dials out"
                                : fmt::format("  in place of the one at {}", before->address);
  print_out("{:<12} {:<24} {}{}\n", knocker.name, knocker.said.address, knocker.said.public_key,
            place);
}

// Nobody can connect to either of two that dial out. Their nodes say so as well, where it matters.
void warn_of_no_way(const Roster& roster, const std::vector<Knocker>& chosen) {
  std::string names;
  std::size_t count = 0;
  for (const Member& member : roster.members())
    if (member.dials_out()) names += (count++ == 0 ? "" : ", ") + member.name;
  const bool newly = std::ranges::any_of(
      chosen, [](const Knocker& knocker) { return knocker.said.address == kDialsOut; });
  if (newly && count > 1)
    print_err("note: {} dial out, and no two of them have a link: they learn from the others\n",
              names);
}

bool agreed() {
  print_out("Let them in? The keys are those that tessera join shows there. [y/N] ");
  flush_out();
  std::string line;
  return std::getline(std::cin, line) && (line == "y" || line == "yes");
}

Result<NodeId> let_in(Roster& roster, const Knocker& knocker) {
  if (roster.find(knocker.name) != nullptr)
    return roster.replace(knocker.name, knocker.said.address, knocker.said.public_key);
  if (roster.members().size() >= roster.next_id())
    return Error{"places", fmt::format("all {} places are taken", roster.next_id())};
  return roster.add(knocker.name, knocker.said.address, knocker.said.public_key);
}

int sign_in(LiveHome home, const std::vector<Knocker>& chosen) {
  int code = 0;
  std::size_t accepted = 0;
  for (const Knocker& knocker : chosen) {
    const Result<NodeId> id = let_in(home.roster, knocker);
    if (id.ok()) {
      ++accepted;
      continue;
    }
    print_err("{} cannot be let in: {}\n", knocker.name, id.error().message);
    code = 1;
  }
  if (accepted == 0) return code;
  warn_of_no_way(home.roster, chosen);
  or_throw<std::invalid_argument>(home.roster.sign(home.owner));
  or_throw(home.roster.write(home.settings.roster));
  print_out("{}: version {}, {} members of {}; running members take it over\n",
            home.settings.roster, home.roster.version(), home.roster.members().size(),
            home.roster.next_id());
  return code;
}

// Without its invitation nobody can knock, and what was said with it is forgotten.
int turn_away(const LiveHome& home, const std::vector<std::string>& names) {
  std::vector<Guest> guests = valid_guests(home);
  std::erase_if(guests, [&](const Guest& guest) {
    return std::find(names.begin(), names.end(), guest.name) != names.end();
  });
  write_guests(home, guests);
  for (const std::string& name : names) print_out("{} is invited no more\n", name);
  return 0;
}

int accept(const AcceptArguments& arguments) {
  const LiveHome home = open_home(arguments.home);
  refuse_uninvited(home, arguments.names);
  if (arguments.refuse && arguments.names.empty())
    throw std::invalid_argument("--refuse needs the names of those who are to stay out");
  if (arguments.refuse) return turn_away(home, arguments.names);
  if (!arguments.names.empty()) {
    const auto chosen = await_knocks(home, arguments.names);
    if (!chosen) return kInterrupted;
    for (const Knocker& knocker : *chosen) show(home, knocker);
    return sign_in(home, *chosen);
  }
  const std::vector<Knocker> waiting = waiting_at(home);
  for (const Knocker& knocker : waiting) show(home, knocker);
  if (waiting.empty()) {
    print_out("nobody waits to be let in\n");
    return 0;
  }
  if (!arguments.yes && ::isatty(STDIN_FILENO) == 0)
    throw std::invalid_argument("name those who are to be let in, or say --yes for all of them");
  return arguments.yes || agreed() ? sign_in(home, waiting) : 0;
}

}  // namespace

Action add_accept(CLI::App& parser) {
  auto arguments = std::make_shared<AcceptArguments>();
  parser.add_option(
      "names", arguments->names,
      "Whom to let in, as soon as they knock (default: shows all who have, and asks)");
  add_home_options(parser, arguments->home);
  parser.add_flag("--yes", arguments->yes, "Lets in all who have knocked, without asking");
  parser.add_flag("--refuse", arguments->refuse, "Takes the invitations of those named back");
  parser.footer(
      "Examples:\n"
      "  tessera accept bob carol\n"
      "  tessera accept\n"
      "  tessera accept --refuse mallory");
  return [arguments](const std::string&) { return accept(*arguments); };
}

}  // namespace tessera
