// A command line that cannot be understood, answered in one line that names the nearest word there
// is; CLI11 speaks of "arguments not expected", of types and of counts.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "cli/command.h"

namespace tessera {

// Both throw std::invalid_argument, before CLI11 reads a word.
void refuse_unknown_command(int argc, char** argv, std::span<const Command> commands);
// To CLI11 an empty value is none, and the next argument takes its place: --out= --quiet would
// write a folder named --quiet.
void refuse_empty_flags(int argc, char** argv);

// What CLI11 found wrong, in our words.
std::string refusal(const CLI::App& parser, const CLI::ParseError& error);

}  // namespace tessera
