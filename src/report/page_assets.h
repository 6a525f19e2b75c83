// What the build made of web/: the page with a gap for its figures.
#pragma once

#include <string_view>

namespace tessera {

std::string_view page_template();

}  // namespace tessera
