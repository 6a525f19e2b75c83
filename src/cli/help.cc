// `tessera completion SHELL` and, for whoever makes packages, `tessera help --man`.
#include "cli/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/output.h"
#include "base/table.h"
#include "cli/command.h"

namespace tessera {
namespace {

FlagHelp read_flag(const CLI::Option& option) {
  const bool by_place = option.get_positional();
  return {.name = by_place ? option.get_name(true) : "--" + option.get_lnames().front(),
          .summary = option.get_description(),
          .takes_value = !by_place && option.get_items_expected_max() > 0,
          .required = option.get_required(),
          .repeats = option.get_expected_max() > 1};
}

// Commands in no group are left out by --help, too.
bool is_for_everyone(const CLI::App* command) {
  return !command->get_group().empty();
}

CommandHelp read_command(const CLI::App& parser) {
  CommandHelp command{.name = parser.get_name(), .summary = parser.get_description()};
  command.notes = parser.get_footer();
  for (const CLI::Option* option : parser.get_options()) {
    if (option->get_group().empty() || option == parser.get_help_ptr()) continue;
    (option->get_positional() ? command.words : command.flags).push_back(read_flag(*option));
  }
  for (const CLI::App* part : parser.get_subcommands(is_for_everyone))
    command.parts.push_back(read_command(*part));
  return command;
}

}  // namespace

ProgramHelp read_program(const CLI::App& parser) {
  ProgramHelp program{.version = parser.version(), .summary = parser.get_description()};
  program.summary.erase(0, program.summary.find(": ") + 2);
  for (const CLI::App* command : parser.get_subcommands(is_for_everyone))
    program.commands.push_back(read_command(*command));
  return program;
}

Action add_help(CLI::App& parser) {
  auto man = std::make_shared<bool>(false);
  parser.group("");
  parser.add_flag("--man", *man, "Writes the man page");
  return [man, &parser](const std::string&) {
    const CLI::App& program = *parser.get_parent();
    // program.help() would be the help of the command that was chosen, which is this one.
    const auto commands = [&] {
      return program.get_formatter()->make_help(&program, program.get_name(),
                                                CLI::AppFormatMode::Normal);
    };
    print_out("{}", *man ? man_page(read_program(program)) : commands());
    return 0;
  };
}

Action add_completion(CLI::App& parser) {
  auto chosen = std::make_shared<std::string>();
  std::string names;
  for (const Shell& shell : shells())
    names += fmt::format("\n  {:<5} goes to {}", shell.name, shell.summary);
  parser.add_option("shell", *chosen, "Which shell's:" + names)->required();
  parser.footer("Example:\n  source <(tessera completion bash)");
  return [chosen](const std::string&) {
    print_out("{}", require_entry(shells(), "shell", *chosen).script);
    return 0;
  };
}

}  // namespace tessera
