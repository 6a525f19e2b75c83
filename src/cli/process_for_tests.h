// The program as a whole process, in a folder of its own that goes with the test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"

namespace tessera {

class SimProcess : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(root_), std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  // Runs `tessera ARGUMENTS`, after `before` (a wrapper such as timeout); gives back the exit code.
  int tessera(const std::string& arguments, const std::string& before = "") const {
    return shell(fmt::format("{} {} {} > {}/out 2> {}/err", before, TESSERA_PROGRAM, arguments,
                             root_.string(), root_.string()));
  }
  // The exit code of a line of shell, in which $tessera is the program and $root our folder.
  int shell(const std::string& line) const {
    const std::string variables =
        fmt::format("tessera={}; root={}; ", TESSERA_PROGRAM, root_.string());
    const int status = std::system((variables + line).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string said(const char* where) const { return *read_text_file(root_ / where); }
  std::string out(const char* run) const { return (root_ / run).string(); }

  std::string digest(const char* run) const {
    return nlohmann::json::parse(*read_text_file(root_ / run / "summary.json"))["model_digest"]
        .get<std::string>();
  }
  std::string metrics(const char* run) const {
    return *read_text_file(root_ / run / "metrics.jsonl");
  }

  const std::string toy_ =
      "sim --nodes=8 --model=quadratic:dimension=5000 --topology=regular:degree=3,redraw=yes "
      "--sharing=jwins "
      "--protocol=dpsgd:rounds=120 --evaluate=every=7 --quiet ";
  std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / fmt::format("tessera_sim_process_{}", ::getpid());
};

}  // namespace tessera
