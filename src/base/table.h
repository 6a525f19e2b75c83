// One table per kind (codecs, sharings, protocols, ...). Being listed is what earns an entry its
// help text, its conformance tests and its benchmark. An entry is any struct with a `name` and a
// `summary`.
#pragma once

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/spec.h"
#include "base/text.h"

namespace tessera {

template <typename Entry>
const Entry* find_entry(std::span<const Entry> table, std::string_view name) {
  for (const Entry& entry : table)
    if (entry.name == name) return &entry;
  return nullptr;
}

// For a name a user wrote: throws with the nearest known one. `kind` reads well in "there is no
// codec 'gama'".
template <typename Entry>
const Entry& require_entry(std::span<const Entry> table, std::string_view kind,
                           std::string_view name) {
  if (const Entry* entry = find_entry(table, name)) return *entry;
  std::vector<std::string_view> names;
  for (const Entry& entry : table) names.push_back(entry.name);
  throw std::invalid_argument(
      fmt::format("there is no {} '{}'.{}", kind, name, suggestion(name, names)));
}

// A line that has been read: the row it names, and what it says of it. The row's own function reads
// the options.
template <typename Entry>
struct Chosen {
  const Entry* kind = nullptr;
  Spec spec{};
};

template <typename Entry>
Chosen<Entry> choose(std::span<const Entry> table, std::string_view kind, std::string_view line) {
  Spec spec = parse_spec(line);
  const Entry& entry = require_entry(table, kind, spec.name);
  return {&entry, std::move(spec)};
}

// A table that takes rows from outside the tree. Rows are added at the start of a program, before
// anything is made of them: adding one moves the others.
template <typename Entry>
class OpenTable {
 public:
  OpenTable(std::string_view kind, std::span<const Entry> rows)
      : kind_(kind), rows_(rows.begin(), rows.end()) {}

  std::span<const Entry> rows() const { return rows_; }
  void add(const Entry& entry) {
    if (find_entry(rows(), entry.name))
      throw std::invalid_argument(
          fmt::format("there is a {} '{}' already: give yours another name", kind_, entry.name));
    rows_.push_back(entry);
  }

 private:
  std::string_view kind_;
  std::vector<Entry> rows_;
};

}  // namespace tessera
