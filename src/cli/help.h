// The program's commands and flags as plain data, read off the parser: what the man page and what
// shells complete are made of, so that neither can disagree with --help.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// Its header takes longer to read than all of ours.
namespace CLI {
class App;
}

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

ProgramHelp read_program(const CLI::App& parser);

// The page for man(1), in roff.
std::string man_page(const ProgramHelp& program);

// A script that makes a shell ask the program what may come next.
struct Shell {
  std::string_view name{};
  std::string_view summary{};  // Where the script belongs.
  std::string_view script{};
};
std::span<const Shell> shells();

}  // namespace tessera
