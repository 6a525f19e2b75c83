// What may stand where the cursor is: `tessera complete WORD...` prints it for the shells' scripts
// (completion.cc), the last word being the one under the cursor, empty or unfinished. Commands and
// flags come from the parser, values from the tables that `tessera list` prints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/help.h"
#include "cli/kinds.h"

namespace tessera {

struct Candidate {
  std::string word{};  // The whole word, with what was typed of it.
  std::string note{};  // A clause beside it, for shells that show one.
};

// None where a file's name belongs, or something nobody can guess: shells then offer files.
std::vector<Candidate> complete(const ProgramHelp& program, std::span<const std::string> words);

// Of a line that names a row of `kind`: "jw", "jwins:bud", "jwins:wavelet=s".
std::vector<Candidate> complete_line(const ListedKind& kind, std::string_view typed);

// Prints what complete() says, a word and its note on a line with a tab between.
int print_candidates(const ProgramHelp& program, std::span<char* const> words);

}  // namespace tessera
