// The TOML behind experiments and sweeps: a table's lines, and messages that say where they stand.
#pragma once

#include <fmt/format.h>

#include <toml++/toml.h>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "run/experiment.h"

namespace tessera {

// Throws std::invalid_argument that names file and line.
toml::table parse_toml(std::string_view text, const std::filesystem::path& path);
// The text of a file, which is a page at most. Throws std::invalid_argument.
std::string read_page(const std::filesystem::path& path);

// A text or a whole number as a line has it.
std::string text_of(const toml::node& node, std::string_view key);
// Sets one line. Throws std::invalid_argument for an unknown key, or for what can be said of the
// value by itself.
void set_line(Experiment& experiment, std::string_view key, const std::string& value);

// A table's keys, after those of its base.
Experiment lines_of(const toml::table& table, const std::filesystem::path& path);

// Runs `take` and adds to whatever it refuses where that stands.
template <typename Take>
auto located(const std::filesystem::path& path, const toml::node& node, Take take) {
  try {
    return take();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(
        fmt::format("{}:{}: {}", path.string(), node.source().begin.line, error.what()));
  }
}

}  // namespace tessera
