// What is printed is tried on streams of whole processes, by src/cli/sim_trouble_test.cc. Here only
// that nothing throws.
#include "base/output.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace tessera {
namespace {

// A child whose streams are both full or closed says so by its exit code.
int exit_code_of(void (*spoil)()) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    spoil();
    prepare_output();
    print_err("{}\n", 1);
    print_out("{}\n", 2);
    const Result<void> finished = finish_output();
    ::_exit(finished.ok() ? 0 : finished.error().kind == "pipe" ? 2 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Output, WhatIsLostIsAnErrorOnlyInTheEnd) {
  EXPECT_EQ(exit_code_of([] { ::close(1), ::close(2); }), 1);
  EXPECT_EQ(exit_code_of([] {
              int ends[2];
              if (::pipe(ends) == 0) ::dup2(ends[1], 1), ::dup2(ends[1], 2), ::close(ends[0]);
            }),
            2);
  EXPECT_EQ(exit_code_of([] {}), 0);
}

}  // namespace
}  // namespace tessera
