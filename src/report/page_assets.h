// What the build made of web/: the page of runs, with a gap for its figures, and the page of a
// fleet, which asks for its own.
#pragma once

#include <string_view>

namespace tessera {

std::string_view page_template();
std::string_view fleet_page();

}  // namespace tessera
