#include "run/live_identity.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <charconv>
#include <stdexcept>

#include "base/files.h"
#include "live/roster.h"
#include "run/experiment_text.h"
#include "run/live_collect.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "node.toml";

std::optional<LiveIdentity> read_identity(const fs::path& folder) {
  const Result<std::string> text = read_text_file(folder / kFile);
  if (!text) return std::nullopt;
  toml::table table;
  try {
    table = parse_toml(*text, folder / kFile);
  } catch (const std::invalid_argument&) {
  }
  LiveIdentity found{.id = table["id"].value_or(NodeId{0}),
                     .name = table["name"].value_or(std::string("nobody"))};
  const std::string run = table["run"].value_or(std::string());
  std::from_chars(run.data(), run.data() + run.size(), found.run, 16);
  return found;
}

}  // namespace

void refuse_others_folder(const fs::path& folder, const LiveIdentity& own) {
  const std::optional<LiveIdentity> found = read_identity(folder);
  if (!found) return;
  constexpr const char* kRemedy = "move it away, or choose another --folder";
  if (found->run != own.run)
    throw std::invalid_argument(
        fmt::format("{} is of an earlier run, {}, and the roster's is {}: {}", folder.string(),
                    show_run(found->run), show_run(own.run), kRemedy));
  if (found->id != own.id || found->name != own.name)
    throw std::invalid_argument(fmt::format("{} is of {} (node {}), and this is {} (node {}): {}",
                                            folder.string(), found->name, found->id, own.name,
                                            own.id, kRemedy));
}

void mark_folder(const fs::path& folder, const LiveIdentity& own) {
  if (read_identity(folder)) return;
  const std::string text =
      fmt::format("run = \"{}\"\nid = {}\nname = \"{}\"\n", show_run(own.run), own.id, own.name);
  or_throw(write_file(folder / kFile, bytes_of(text)));
}

std::optional<std::uint64_t> run_of_nodes(const fs::path& nodes) {
  for (const fs::path& folder : node_folders(nodes))
    if (const std::optional<LiveIdentity> found = read_identity(folder)) return found->run;
  return std::nullopt;
}

}  // namespace tessera
