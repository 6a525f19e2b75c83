// `tessera keygen NAME`: the key pair by which a node is known to the others.
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "base/output.h"
#include "cli/command.h"
#include "live/link/keys.h"
#include "live/roster.h"

namespace tessera {
namespace {

struct KeygenArguments {
  std::string name{};
  std::string folder = ".";
};

// For its owner alone, as what goes into it. A folder that is there stays as it is.
void make_folder(const std::string& folder) {
  std::error_code error;
  const mode_t usual = ::umask(077);
  std::filesystem::create_directories(folder, error);
  ::umask(usual);
  if (error)
    throw std::invalid_argument(
        fmt::format("keygen: --dir={}: cannot make this folder: {}", folder, error.message()));
}

int keygen(const KeygenArguments& arguments) {
  if (const std::string fault = member_name_fault(arguments.name); !fault.empty())
    throw std::invalid_argument(fmt::format("keygen: '{}': {}", arguments.name, fault));
  make_folder(arguments.folder);
  const KeyFiles files = key_files(arguments.folder, arguments.name);
  const KeyPair keys = or_throw<std::invalid_argument>(make_key_files(files), "keygen: ");
  print_out("{}  keep it on the node's machine, and to yourself\n", files.secret.string());
  print_out("{}  for the roster: {}\n", files.shared.string(), keys.public_key);
  print_out("next: tessera roster add ROSTER {} HOST:PORT {}\n", arguments.name,
            files.shared.string());
  return 0;
}

}  // namespace

Action add_keygen(CLI::App& parser) {
  auto arguments = std::make_shared<KeygenArguments>();
  parser.add_option("name", arguments->name, "The node's name")->required();
  parser.add_option("--dir", arguments->folder,
                    "Where the two files go; made if need be (default: here)");
  parser.footer(
      "Example:\n"
      "  tessera keygen alice --dir=keys");
  return [arguments](const std::string&) { return keygen(*arguments); };
}

}  // namespace tessera
