// Keeps the house rules executable: the tree has no finding, and each rule finds what it is for in
// a planted file. Words a rule looks for are written in two pieces here, for the rules read this
// file too.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tidy/layers.h"
#include "tidy/rules.h"

namespace tessera::tidy {
namespace {

struct Sample {
  std::string rule{};
  std::string path{};
  std::string text{};
};

std::string function_of_lines(std::size_t lines) {
  std::string text = "int f(int x) {\n";
  for (std::size_t i = 2; i < lines; ++i) text += "  x += 1;\n";
  return text + "}\n";
}

std::string class_of_members(int members) {
  std::string text = "class A {\n public:\n  int f() const { return m0_; }\n\n private:\n";
  for (int i = 0; i < members; i += 2)
    text += "  int m" + std::to_string(i) + "_ = 0, m" + std::to_string(i + 1) + "_{};\n";
  return text + "};\n";
}

std::string empty_lines(std::size_t lines) {
  return std::string(lines, '\n');
}

// A small world for the samples to stand in: math and codec know what they may use.
Tree sample_tree() {
  Tree tree;
  for (const auto& [path, text] : std::vector<std::pair<std::string, std::string>>{
           {"src/base/CMakeLists.txt", "tessera_folder(base PACKAGES fmt::fmt)\n"},
           {"src/math/CMakeLists.txt",
            "tessera_folder(math USES base PACKAGES hwy::hwy TEST_USES data)\n"},
           {"src/data/CMakeLists.txt", "tessera_folder(data USES base)\n"},
           {"src/codec/CMakeLists.txt", "tessera_folder(codec\n  USES math)  # and no more\n"},
           {"src/math/known.h", "// Known.\n#pragma once\n#include <span>\n"},
           {"src/math/user.cc", "#include \"math/other.h\"\nvoid f() {\n  Used used;\n}\n"},
           {"src/math/caller.cc", "int f() {\n  return called(1) + plain::member_called(2);\n}\n"},
           {"scripts/setup.sh", "core libzstd-dev libkissfft-dev\n"},
           {"THIRD_PARTY.md", "| Zstd | BSD |\n"},
           {"docs/style.md", "# Style\n"}})
    tree[path] = make_file(path, text);
  return tree;
}

// tidy: long because it is a table.
std::vector<Sample> bad_samples() {
  const std::string pragma = "// Says what it is.\n#pragma once\n";
  return {
      {"includes", "src/math/a.cc", "#include \"codec/wire.h\"\n"},
      {"includes", "src/math/a.cc", "#include \"data/dataset.h\"\n"},
      {"includes", "src/codec/a.cc", "#include \"data/dataset.h\"\n"},
      {"includes", "src/base/a.cc", "#include \"math/known.h\"\n"},
      {"includes", "src/math/a.cc", "#include \"known.h\"\n"},
      {"includes", "src/math/sub/a.cc", "#include \"codec/wire.h\"\n"},
      {"includes", "src/live/link/a.cc", "#include \"live/runtime.h\"\n"},
      {"includes", "src/math/a.cc", "#include \"live/link/frame.h\"\n"},
      {"layers", "src/math/CMakeLists.txt", "tessera_folder(math USES base codec)\n"},
      {"layers", "src/codec/CMakeLists.txt", "tessera_folder(codec USES data)\n"},
      {"layers", "src/oddment/CMakeLists.txt", "tessera_folder(oddment USES base)\n"},
      {"owned", "src/learn/a.cc", "#include <torch/torch.h>\n"},
      {"owned", "src/sim/a.cc", "#include <zmq.hpp>\n"},
      {"owned", "src/run/a.cc", "#include <cuda_runtime_api.h>\n"},
      {"standard", "src/math/a.cc", "std::vector<int> a;\nstd::vector<int> b;\n"},
      {"standard", "src/math/a.h", "#include <string>\nstd::uint32_t f();\n"},
      {"own", "src/math/a.h", pragma + "struct Used {\n  int b = 0;\n};\n"},
      {"clock", "src/sim/a.cc",
       "auto t = std::chrono::steady_"
       "clock::now();\n"},
      {"clock", "src/base/a.cc",
       "using C = std::chrono::system_"
       "clock;\n"},
      {"clock", "src/sim/a.cc",
       "const auto t = std::time(null"
       "ptr);\n"},
      {"clock", "src/sim/a.cc",
       "  clock_get"
       "time(CLOCK_REALTIME, &t);\n"},
      {"randomness", "src/live/a.cc",
       "int i = ra"
       "nd() % 6;\n"},
      {"randomness", "src/sim/a.cc",
       "std::random_"
       "device seed;\n"},
      {"randomness", "src/sim/a.cc",
       "std::mt1"
       "9937 engine(1);\n"},
      {"randomness", "src/sim/a.cc",
       "std::normal_distribution"
       "<float> draw;\n"},
      {"randomness", "src/sim/a.cc",
       "std::shu"
       "ffle(a.begin(), a.end(), g);\n"},
      {"output", "src/cli/a.cc", "fmt::print(stderr, \"so far\\n\");\n"},
      {"output", "src/cli/a.cc", "std::cout << accuracy;\n"},
      {"paths", "src/data/a.cc",
       "const char* kDir = \"/ho"
       "me/me/cifar\";\n"},
      {"paths", "scripts/a.sh",
       "cd /ro"
       "ot/tessera\n"},
      {"leftovers", "src/math/a.cc",
       "// FIX"
       "ME: later\n"},
      {"leftovers", "docs/a.md",
       "TO"
       "DO: write this page\n"},
      {"leftovers", "cmake/a.cmake",
       "# XX"
       "X\n"},
      {"columns", "src/math/a.cc", "// " + std::string(98, 'x') + "\n"},
      {"functions", "src/math/a.cc", function_of_lines(61)},
      {"functions", "src/math/a.cc", "TEST(A, b) {\n" + empty_lines(60) + "}\n"},
      {"functions", "src/math/a.cc", "class A {\n A(int x) {\n" + empty_lines(60) + "}\n};\n"},
      {"files", "src/math/a.cc", empty_lines(501)},
      {"companion", "src/math/a.cc", "int f() { return 1; }\n"},
      {"header", "src/math/a.h", "#pragma once\n"},
      {"header", "src/math/a.h", "// Says what it is.\nint f();\n"},
      {"using", "src/math/a.h", pragma + "using namespace std;\n"},
      {"members", "src/math/a.cc", class_of_members(16)},
      {"unused", "src/math/a.h", pragma + "std::vector<int> f(int x);\n"},
      {"unused", "src/math/a.h", pragma + "struct A {\n  int* f() const { return b_; }\n};\n"},
      {"unused", "src/math/a.h", pragma + "// Like called(), f() adds.\nint f(int x);\n"},
      {"sentences", "src/math/a.h",
       pragma +
           "struct A {\n  int a = 0;  // Whatever became of it,\n  int b = 0;  // and more.\n};\n"},
      {"sentences", "src/math/a.cc",
       "constexpr int kA = 5;  // What must be done,\n// where there is time.\n"},
      {"packages", "src/math/CMakeLists.txt", "find_package(kissfft-float REQUIRED)\n"},
      {"shell", "scripts/a.sh", "#!/usr/bin/env bash\nset -e\n"},
      {"shell", "scripts/a.sh", "#!/bin/sh\nset -euo pipefail\n"},
      {"links", "docs/a.md", "See [the other page](nowhere.md).\n"},
  };
}

std::vector<Sample> good_samples() {
  return {
      {"includes", "src/math/a_test.cc", "#include \"data/dataset.h\"\n"},
      {"includes", "src/math/a_for_tests.h", "#pragma once\n#include \"data/dataset.h\"\n"},
      {"includes", "src/codec/a.cc", "#include \"base/bytes.h\"\n#include \"math/known.h\"\n"},
      {"includes", "src/cli/a.cc", "#include \"codec/wire.h\"\n"},
      {"includes", "src/codec/sub/a.cc", "#include \"math/known.h\"\n"},
      {"owned", "src/torch/a.cc", "#include <torch/torch.h>\n"},
      {"owned", "src/cuda/emulated/a.cc", "#include <cuda_fp16.h>\n"},
      {"clock", "src/live/a.cc",
       "auto t = std::chrono::steady_"
       "clock::now();\n"},
      {"clock", "src/run/made.cc",
       "auto t = std::chrono::system_"
       "clock::now();\n"},
      {"clock", "src/sim/a.cc",
       "// Not steady_"
       "clock: virtual time only.\n"},
      {"clock", "src/sim/a.cc", "Timing t = bench.time(run);\n"},
      {"randomness", "src/sim/a.cc",
       "Random random = root.fork(\"operand\"); // no rand"
       "()\n"},
      {"output", "src/cli/a.cc", "print_err(\"so far\\n\");  // Not fmt::print().\n"},
      {"output", "examples/a.cc", "fmt::print(\"{}\\n\", accuracy);\n"},
      {"paths", "docs/a.md",
       "https://example.org/home/page and build/wor"
       "k/x\n"},
      {"leftovers", "scripts/a.sh", "folder=$(mktemp -d tessera.XXXXXX)\n"},
      {"columns", "src/math/a.cc", "// " + std::string(97, 'x') + "\n"},
      {"columns", "src/math/a.cc",
       "// " + std::string(50, 'x') + "\xC3\xA9" + std::string(46, 'x')},
      {"functions", "src/math/a.cc", function_of_lines(60)},
      {"functions", "src/math/a.cc", "// tidy: long because a table.\n" + function_of_lines(90)},
      {"functions", "src/math/a.cc", "namespace a {\n" + empty_lines(90) + "}\n"},
      {"functions", "src/math/a.cc", "struct A {\n" + empty_lines(90) + "};\n"},
      {"files", "docs/a.md", empty_lines(501)},
      {"companion", "src/math/known.cc", "#include \"math/known.h\"\n"},
      {"companion", "src/math/a.cc", "// The second half of known.h.\n"},
      {"using", "src/math/a.h", "using namespace std::chrono_literals;\n"},
      {"members", "src/math/a.cc", class_of_members(14) + class_of_members(14)},
      {"unused", "src/math/a.h", "int called(int x);\n"},
      {"unused", "src/math/a.h", "struct A {\n  static int member_called(int x);\n};\n"},
      {"unused", "src/math/a.h", "inline int g() {\n  return called(g_of(2));\n}\nint h = g();\n"},
      {"sentences", "src/math/a.h",
       "int a = 0;  // A sentence that is long and\n            // goes on below itself.\n"},
      {"sentences", "src/math/a.h", "void add(Span x, Span y);  // x += y\nint b;  // namespace\n"},
      {"header", "src/math/a-inl.h", "// Says what it is.\n#if A\n#endif\n"},
      {"sentences", "src/math/a.h", "#endif  // HWY_ONCE\n"},
      {"sentences", "src/math/a.h", "int a = f(\"  // Not one, of course\");\n"},
      {"packages", "src/math/CMakeLists.txt", "find_library(TESSERA_ZSTD zstd REQUIRED)\n"},
      {"standard", "src/math/a.cc", "#include \"math/known.h\"\nstd::span<int> a;\n"},
      {"standard", "src/math/a.cc", "// std::vector\nstd::size_t n;\n"},
      {"own", "src/math/other.h", "struct Used {\n  int b = 0;\n};\n"},
      {"own", "src/math/a.h", "// Stands in for <a.h>.\nstruct Used {\n  int b = 0;\n};\n"},
      {"own", "src/math/a.h", "struct Used;\nstruct A {\n  int b = 0;\n};\n"},
      {"packages", "src/math/CMakeLists.txt", "find_package(Threads REQUIRED)\n"},
      {"shell", "scripts/a.sh", "#!/usr/bin/env bash\n# Why.\n\nset -euo pipefail\n"},
      {"links", "README.md", "[a](docs/style.md) [b](docs/) [c](#d) [e](https://f.org/g)\n"},
  };
}

Findings findings_of(const Sample& sample) {
  Tree tree = sample_tree();
  const File& file = tree[sample.path] = make_file(sample.path, sample.text);
  for (const Rule& rule : rules())
    if (rule.name == sample.rule) return check_file(rule, file, tree);
  ADD_FAILURE() << "no rule is called " << sample.rule;
  return {};
}

TEST(Tidy, TheTreeKeepsTheRules) {
  const Tree tree = read_tree(TESSERA_SOURCE_DIR);
  ASSERT_TRUE(tree.contains("src/tidy/tidy_test.cc")) << "the tree was not read";
  for (const std::string& finding : check_tree(tree)) ADD_FAILURE() << finding;
}

TEST(Tidy, EveryRuleFindsWhatItIsFor) {
  for (const Sample& sample : bad_samples())
    EXPECT_EQ(findings_of(sample).size(), 1u) << sample.rule << " on " << sample.path << ":\n"
                                              << sample.text;
}

TEST(Tidy, NoRuleFindsWhatIsFine) {
  for (const Sample& sample : good_samples())
    for (const std::string& finding : findings_of(sample)) ADD_FAILURE() << finding;
}

TEST(Tidy, EveryRuleIsTried) {
  for (const Rule& rule : rules()) {
    bool tried = false;
    for (const Sample& sample : bad_samples()) tried = tried || sample.rule == rule.name;
    EXPECT_TRUE(tried) << "plant a bad sample for " << rule.name << " in this file";
  }
}

TEST(Tidy, FindingsSayWhereAndWhat) {
  const Findings findings = findings_of({"using", "src/math/a.h", "\nusing namespace std;\n"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].find("src/math/a.h:2: using: "), 0u) << findings[0];
}

TEST(Tidy, CodeIsToldFromCommentsAndLiterals) {
  EXPECT_EQ(without_comments_and_literals("a // b\nc"), "a     \nc");
  EXPECT_EQ(without_comments_and_literals("a /* b\n */ c"), "a     \n    c");
  EXPECT_EQ(without_comments_and_literals("f(\"x\\\"y\") + 'z'"), "f(      ) +    ");
  EXPECT_EQ(without_comments_and_literals("1'000 + b"), "1'000 + b");
  EXPECT_EQ(without_comments_and_literals("R\"-(a\")-\" b"), "          b");
}

TEST(Tidy, AFolderSeesWhatItsLinkLineReaches) {
  const std::set<std::string> expected = {"base", "math", "codec"};
  EXPECT_EQ(visible_from("codec", sample_tree()), expected);
}

}  // namespace
}  // namespace tessera::tidy
