// Runs that end by rounds and are looked at by time: the end comes between two looks, or before the
// first.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"

namespace tessera {
namespace {

TEST(SimEnding, RowsByTimeEndWithTheRun) {
  const std::filesystem::path out =
      std::filesystem::path(testing::TempDir()) / fmt::format("tessera_ending_{}", ::getpid());
  for (const char* protocol :
       {"dpsgd:rounds=2", "epidemic:fanout=2,rounds=4", "divshare:fanout=2,rounds=3"}) {
    const std::string sharing =
        std::string_view(protocol).starts_with("div") ? "fragments" : "full";
    const std::string command = fmt::format(
        "timeout 60 {} sim --nodes=6 --model=quadratic:dimension=20 --protocol={} --sharing={} "
        "--evaluate=every=600ms --out={} --overwrite --quiet > /dev/null",
        TESSERA_PROGRAM, protocol, sharing, out.string());
    const int status = std::system(command.c_str());
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << protocol;
    const std::string rows = *read_text_file(out / "metrics.jsonl");
    const auto count = std::count(rows.begin(), rows.end(), '\n');
    EXPECT_TRUE(count >= 1 && count <= 10) << protocol << ": " << count;
  }
  std::filesystem::remove_all(out);
}

}  // namespace
}  // namespace tessera
