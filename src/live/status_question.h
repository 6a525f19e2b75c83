// Asks a running node on this machine how it is.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace tessera {

// Asks the node that listens there; the answer is its words. A node that is frozen accepts nobody:
// it is given up on after `patience`, as is one that answers too slowly.
Result<std::string> ask_status(const std::filesystem::path& socket, std::string_view format,
                               Duration patience = std::chrono::seconds(1));

}  // namespace tessera
