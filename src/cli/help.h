// The program's commands and flags as plain data, read off the parser: what the man page and the
// shells' completions are made of, so that neither can disagree with --help.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct FlagHelp {
  std::string name{};  // "--nodes", or "runs" for a word that stands by its place.
  std::string summary{};
  bool takes_value = false;
  bool required = false;
  bool repeats = false;
};

struct CommandHelp {
  std::string name{};
  std::string summary{};
  std::vector<FlagHelp> words{};  // Those that stand by their place, in order.
  std::vector<FlagHelp> flags{};
  std::string notes{};               // What --help ends with: remarks and examples.
  std::vector<CommandHelp> parts{};  // Of a command that is several: "roster add".
};

struct ProgramHelp {
  std::string version{};
  std::string summary{};
  std::vector<CommandHelp> commands{};
};

// The page for man(1), in roff.
std::string man_page(const ProgramHelp& program);

// A script that teaches a shell to complete the program's commands and flags.
struct Shell {
  std::string_view name{};
  std::string_view summary{};  // Where the script belongs.
  std::string (*completion)(const ProgramHelp& program) = nullptr;
};
std::span<const Shell> shells();

}  // namespace tessera
