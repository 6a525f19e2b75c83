// The order of the folders. A folder may include itself and what its CMake link line names, and
// that line may only name folders of a lower rank: so the build is the layering, and no include
// goes around it.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "tidy/source.h"

namespace tessera::tidy {

// The layer that holds a folder: "live/link" is one, and "sim/oracle", which has no place of its
// own in the order, belongs to "sim".
std::string_view layer_of(std::string_view folder);

// How high a folder stands; -1 for one that is not in the order at all.
int rank_of(std::string_view folder);

// The folders named after USES in src/<folder>/CMakeLists.txt. A folder that does not say (the
// program, or one that is headers only so far) uses every lower one.
std::set<std::string> used_directly(std::string_view folder, const Tree& tree);

// Those named after TEST_USES: folders above that its x_test.cc and x_for_tests.h may see besides.
std::set<std::string> used_by_tests(std::string_view folder, const Tree& tree);

// What a file may include: its folder, those its folder uses, and those they use.
std::set<std::string> visible_from(std::string_view folder, const Tree& tree);

}  // namespace tessera::tidy
