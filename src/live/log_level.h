// How much a line of the log matters.
#pragma once

#include <functional>
#include <string_view>

namespace tessera {

enum class LogLevel {
  kInfo,     // As it should be.
  kWarning,  // Somebody was refused, lost or late; the node goes on.
  kError,    // Something is not done that should be.
};
constexpr std::string_view to_string(LogLevel level) {
  return level == LogLevel::kInfo ? "info" : level == LogLevel::kWarning ? "warning" : "error";
}

// Tells a person what happens, a line at a time.
using Say = std::function<void(LogLevel level, std::string_view line)>;

}  // namespace tessera
