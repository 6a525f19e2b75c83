// How the program says that it failed: one line, and an exit code.
#pragma once

#include <exception>
#include <string>

namespace tessera {

struct Failure {
  int code = 1;  // 2: it was asked wrongly.
  std::string text{};
};
Failure failure_of(const std::exception_ptr& error);

}  // namespace tessera
