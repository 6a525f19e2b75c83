#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/output.h"
#include "base/table.h"
#include "cli/command.h"
#include "cli/kinds.h"

namespace tessera {
namespace {

void print_kind(const ListedKind& kind) {
  bool first = true;
  for (const ListedGroup& group : kind.groups()) {
    if (!group.title.empty()) print_out("{}{}\n", first ? "" : "\n", group.title);
    first = false;
    for (const ListedRow& row : group.rows) {
      print_out("{:<12} {}\n", row.name, row.summary);
      if (!row.usage.empty()) print_out("{:<12} {}\n", "", row.usage);
    }
  }
}

}  // namespace

Action add_list(CLI::App& parser) {
  auto chosen = std::make_shared<std::string>();
  parser.add_option("kind", *chosen, "What to list; without it, the kinds themselves");
  parser.footer(
      "Examples:\n"
      "  tessera list\n"
      "  tessera list sharings");
  return [chosen](const std::string&) {
    if (!chosen->empty()) {
      print_kind(require_entry(listed_kinds(), "kind", *chosen));
      return 0;
    }
    for (const ListedKind& kind : listed_kinds()) print_out("{:<12} {}\n", kind.name, kind.summary);
    return 0;
  };
}

}  // namespace tessera
