// Where names are declared, the standard library's and our own types. A file that uses a name
// includes the name's header, or a header of ours that does: libraries differ in which of their
// headers include which, and files that are compiled together hide what one of them lacks.
#pragma once

#include "tidy/rules.h"

namespace tessera::tidy {

void check_standard_names(const File& file, const Tree& tree, Rule::Report& report);
// What a header defines, asked of all who say it.
void check_own_names(const File& file, const Tree& tree, Rule::Report& report);

}  // namespace tessera::tidy
