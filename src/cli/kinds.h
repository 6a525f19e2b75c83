// Everything that can be chosen by name, kind by kind: what `tessera list` prints and what shells
// complete values from.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace tessera {

struct ListedRow {
  std::string_view name{};
  std::string_view summary{};
  std::string_view usage{};  // A whole line with its options; empty where there are none to give.
};

struct ListedGroup {
  std::string_view title{};  // Empty where it needs none.
  std::vector<ListedRow> rows{};
};

struct ListedKind {
  std::string_view name{};
  std::string_view summary{};
  std::vector<ListedGroup> (*groups)() = nullptr;
};

std::span<const ListedKind> listed_kinds();

}  // namespace tessera
