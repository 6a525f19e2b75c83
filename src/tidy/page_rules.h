// The rules of what is not C++: scripts, build files and pages.
#pragma once

#include "tidy/rules.h"

namespace tessera::tidy {

void check_shell(const File& file, const Tree& tree, Rule::Report& report);
void check_packages(const File& file, const Tree& tree, Rule::Report& report);
void check_links(const File& file, const Tree& tree, Rule::Report& report);

}  // namespace tessera::tidy
