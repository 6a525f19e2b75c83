// `tessera keygen NAME`: the key pair by which a node is known to the others, or with --owner the
// one by which a roster's owner is.
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
#include "live/sign/signing.h"

namespace tessera {
namespace {

struct KeygenArguments {
  std::string name{};
  std::string folder = ".";
  bool owner = false;
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
  const KeyPair keys = arguments.owner ? make_signing_pair() : make_key_pair();
  or_throw<std::invalid_argument>(write_key_files(files, keys), "keygen: ");
  if (arguments.owner) {
    print_out("{}  whoever has it says who is a member: keep it to yourself\n",
              files.secret.string());
    print_out("{}  the fleet's owner: {}\n", files.shared.string(), keys.public_key);
    print_out("next: tessera roster sign ROSTER {}\n", files.secret.string());
    return 0;
  }
  print_out("{}  keep it on the node's machine, and to yourself\n", files.secret.string());
  print_out("{}  for the roster: {}\n", files.shared.string(), keys.public_key);
  print_out("next: tessera roster add ROSTER {} HOST:PORT {}\n", arguments.name,
            files.shared.string());
  return 0;
}

}  // namespace

Action add_keygen(CLI::App& parser) {
  auto arguments = std::make_shared<KeygenArguments>();
  parser.add_option("name", arguments->name, "The node's name, or the fleet's")->required();
  parser.add_option("--dir", arguments->folder,
                    "Where the two files go; made if need be (default: here)");
  parser.add_flag("--owner", arguments->owner, "A key to sign rosters with, rather than a node's");
  parser.footer(
      "Example:\n"
      "  tessera keygen alice --dir=keys\n"
      "  tessera keygen fleet --owner");
  return [arguments](const std::string&) { return keygen(*arguments); };
}

}  // namespace tessera
