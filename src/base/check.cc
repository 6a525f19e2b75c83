#include "base/check.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace tessera::check {

void fail(const char* file, int line, const char* condition, const std::string& operands) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s%s\n", file, line, condition, operands.c_str());
  std::abort();
}

}  // namespace tessera::check
