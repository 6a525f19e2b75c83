// The house rules, one table. Each is a function from a file to findings; a finding says where,
// what, and what to do about it. docs/style.md says why the rules are what they are.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tidy/source.h"

namespace tessera::tidy {

// "src/math/select.cc:41: clock: ...". Lines are counted from one here, as editors do.
using Findings = std::vector<std::string>;

struct Rule {
  std::string_view name{};
  std::string_view summary{};
  // Reports "at this line (from zero), this is wrong" for one file of the tree.
  class Report;
  void (*check)(const File& file, const Tree& tree, Report& report) = nullptr;
};

class Rule::Report {
 public:
  Report(std::string_view rule, const File& file, Findings& findings)
      : rule_(rule), file_(file), findings_(findings) {}
  void add(std::size_t line, std::string_view what);

 private:
  std::string_view rule_;
  const File& file_;
  Findings& findings_;
};

std::span<const Rule> rules();

Findings check_file(const Rule& rule, const File& file, const Tree& tree);
Findings check_tree(const Tree& tree);

}  // namespace tessera::tidy
