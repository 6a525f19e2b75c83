#include "tidy/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "tidy/layers.h"
#include "tidy/names.h"
#include "tidy/page_rules.h"
#include "tidy/standard_names.h"

namespace tessera::tidy {
namespace {

using Report = Rule::Report;

constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kFunctionLinesMax = 60;
constexpr std::size_t kFileLinesMax = 500;
constexpr std::size_t kMembersMax = 15;

// "codec/wire.h" for #include "codec/wire.h", "<torch/torch.h" for #include <torch/torch.h>.
std::string_view included(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("#include")) return {};
  line = trimmed(line.substr(8));
  if (line.starts_with('<')) return line.substr(0, line.find('>'));
  if (line.starts_with('"')) return line.substr(1, line.find('"', 1) - 1);
  return {};
}

void check_includes(const File& file, const Tree& tree, Report& report) {
  if (!file.is_cpp() || file.folder().empty()) return;
  std::set<std::string> visible = visible_from(file.folder(), tree);
  if (file.ends_with("_test.cc") || file.ends_with("_for_tests.h"))
    for (const std::string& above : used_by_tests(file.folder(), tree))
      visible.merge(visible_from(above, tree));
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string_view path = included(file.lines[i]);
    if (path.empty() || path.starts_with('<')) continue;
    if (path.find('/') == path.npos) {
      report.add(i, fmt::format("\"{}\" has no folder: write the path from src/", path));
      continue;
    }
    const std::string folder(layer_of(path.substr(0, path.rfind('/'))));
    if (!visible.contains(folder))
      report.add(i, fmt::format("{}/ does not see {}/: name it after USES in src/{}/CMakeLists.txt "
                                "if it is a lower layer, else move the code",
                                file.folder(), folder, file.folder()));
  }
}

void check_link_lines(const File& file, const Tree& tree, Report& report) {
  const std::string_view folder = file.folder();
  if (folder.empty() || !file.ends_with("/CMakeLists.txt")) return;
  if (rank_of(folder) < 0)
    return report.add(0, fmt::format("{}/ has no place in the order of folders: add it to "
                                     "src/tidy/layers.cc and DESIGN.md",
                                     folder));
  for (const std::string& below : used_directly(folder, tree))
    if (rank_of(below) >= rank_of(folder))
      report.add(0, fmt::format("{}/ may not use {}/, which is not a lower layer", folder, below));
}

void check_heavy_includes(const File& file, const Tree&, Report& report) {
  struct Owned {
    std::string_view prefix;
    std::string_view folder;
  };
  constexpr std::array kOwned = {Owned{"<torch/", "torch"},     Owned{"<ATen/", "torch"},
                                 Owned{"<c10/", "torch"},       Owned{"<zmq", "live/link"},
                                 Owned{"<sodium", "live/sign"}, Owned{"<mpi.h", "cluster"},
                                 Owned{"<cuda", "cuda"}};
  if (!file.is_cpp()) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    for (const Owned& owned : kOwned)
      if (included(file.lines[i]).starts_with(owned.prefix) && file.folder() != owned.folder)
        report.add(i, fmt::format("only {}/ sees {}...>: go through its interface", owned.folder,
                                  owned.prefix));
}

// A call of the C function time(); members of that name are fine.
bool calls_time(std::string_view line) {
  for (std::string_view call : {"time(nullptr)", "time(NULL)", "time(0)", "time(&"}) {
    const std::size_t at = line.find(call);
    if (at != line.npos && (at == 0 || line[at - 1] != '.')) return true;
  }
  return false;
}

void check_clock(const File& file, const Tree&, Report& report) {
  const bool may = file.path.starts_with("src/live/") || file.path == "src/base/stopwatch.h" ||
                   file.path == "src/run/made.cc";
  if (!file.is_cpp() || may) return;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    bool found = calls_time(file.code[i]);
    for (std::string_view word : {"system_clock", "steady_clock", "high_resolution_clock",
                                  "gettimeofday", "clock_gettime", "timespec_get"})
      found = found || has_word(file.code[i], word);
    if (found)
      report.add(i, "reads the wall clock outside live/: take an Instant from whoever drives you");
  }
}

void check_randomness(const File& file, const Tree&, Report& report) {
  if (!file.is_cpp()) return;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    const std::string& line = file.code[i];
    bool found = line.find("_distribution<") != line.npos;
    for (std::string_view word :
         {"rand", "randn", "randint", "randperm", "srand", "drand48", "random_device", "mt19937",
          "mt19937_64", "default_random_engine", "std::shuffle"})
      found = found || has_word(line, word);
    if (found)
      report.add(i, "draws outside the seed's tree: fork a Random (base/random.h) for the purpose");
  }
}

void check_output(const File& file, const Tree&, Report& report) {
  if (!file.is_cpp() || !file.path.starts_with("src/") || file.ends_with("_test.cc")) return;
  for (std::size_t i = 0; i < file.code.size(); ++i)
    for (std::string_view call : {"fmt::print(", "std::cout", "std::cerr", "std::puts("})
      if (file.code[i].find(call) != std::string::npos)
        report.add(i, "what it prints may not arrive: use print_out or print_err (base/output.h)");
}

bool has_machine_path(std::string_view line) {
  for (std::string_view root : {"home", "root", "work", "Users", "mnt", "scratch"}) {
    const std::size_t at = line.find(fmt::format("/{}/", root));
    // The middle of a longer path, a variable or a web address is not a place on this machine.
    constexpr std::string_view kBefore = " \t\"'`=:(<[,";
    if (at != line.npos && (at == 0 || kBefore.find(line[at - 1]) != kBefore.npos)) return true;
  }
  return false;
}

void check_paths(const File& file, const Tree&, Report& report) {
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (has_machine_path(file.lines[i]))
      report.add(i, "names a place on one machine: take it from a flag, or from the source folder");
}

void check_leftovers(const File& file, const Tree&, Report& report) {
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    for (std::string_view word : {"FIX"
                                  "ME",
                                  "TO"
                                  "DO",
                                  "XX"
                                  "X"})
      if (has_word(file.lines[i], word))
        report.add(i, fmt::format("leftover {}: do it, or open an issue", word));
}

void check_line_length(const File& file, const Tree&, Report& report) {
  if (!file.is_cpp()) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::size_t columns = 0;  // Bytes that continue a UTF-8 character take no column.
    for (char c : file.lines[i]) columns += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (columns > kColumnsMax)
      report.add(i, fmt::format("{} columns, {} at most: run clang-format", columns, kColumnsMax));
  }
}

void check_function_length(const File& file, const Tree&, Report& report) {
  if (!file.is_cpp()) return;
  for (const FunctionLines& body : functions_of(file)) {
    const std::size_t length = body.last - body.first + 1;
    if (length <= kFunctionLinesMax) continue;
    bool excused = false;
    for (std::size_t i = body.first > 4 ? body.first - 4 : 0; i <= body.last; ++i)
      excused = excused || file.lines[i].find("tidy: long because ") != std::string::npos;
    if (!excused)
      report.add(body.first, fmt::format("a function of {} lines, {} at most: split it, or say "
                                         "'// tidy: long because ...' above it",
                                         length, kFunctionLinesMax));
  }
}

void check_file_length(const File& file, const Tree&, Report& report) {
  if (!file.ends_with(".md") && file.lines.size() > kFileLinesMax)
    report.add(file.lines.size() - 1,
               fmt::format("{} lines, {} at most: a file is a page, split it", file.lines.size(),
                           kFileLinesMax));
}

// A library file implements the header of its name, or says in its first line what it is for.
// Tests, benchmarks and fuzzers are found by their endings, commands by the program's table.
void check_companion(const File& file, const Tree& tree, Report& report) {
  if (file.folder().empty() || !file.ends_with(".cc") || file.folder() == "cli") return;
  for (std::string_view ending : {"_test.cc", "_bench.cc", "_fuzz.cc"})
    if (file.ends_with(ending)) return;
  const std::string header = file.path.substr(0, file.path.size() - 2) + "h";
  if (!tree.contains(header) && (file.lines.empty() || !file.lines[0].starts_with("// ")))
    report.add(0,
               fmt::format("there is no {}: begin with a comment that says what this file is for",
                           header));
}

void check_header(const File& file, const Tree&, Report& report) {
  if (!file.is_header()) return;
  std::size_t i = 0;
  while (i < file.lines.size() && file.lines[i].starts_with("//")) ++i;
  if (i == 0) report.add(0, "begin with a comment a newcomer can stop after");
  // Highway includes these once per instruction set.
  if (file.ends_with("-inl.h")) return;
  if (i == file.lines.size() || file.lines[i] != "#pragma once")
    report.add(i, "'#pragma once' belongs right below the opening comment");
}

void check_using(const File& file, const Tree&, Report& report) {
  if (!file.is_header()) return;
  for (std::size_t i = 0; i < file.code.size(); ++i)
    if (file.code[i].find("using namespace ") != std::string::npos &&
        file.code[i].find("literals") == std::string::npos)
      report.add(i, "'using namespace' in a header reaches everyone who includes it: name things");
}

void check_unused(const File& file, const Tree& tree, Report& report) {
  if (file.folder().empty()) return;
  for (const DeclaredName& declared : functions_declared(file)) {
    const auto says_it = [&](const auto& other) {
      return other.second.words.contains(declared.name);
    };
    if (std::none_of(tree.begin(), tree.end(), says_it))
      report.add(declared.line,
                 fmt::format("nothing calls {}(), not even a test: remove it", declared.name));
  }
}

void check_members(const File& file, const Tree&, Report& report) {
  if (!file.is_cpp()) return;
  for (const ClassMembers& each : classes_of(file))
    if (each.names.size() > kMembersMax)
      report.add(each.line, fmt::format("a class of {} members, {} at most: some of them belong "
                                        "together, make them a class or a struct",
                                        each.names.size(), kMembersMax));
}

// Where the comment beside a line's code begins; npos where there is none.
std::size_t comment_beside_code(const File& file, std::size_t i) {
  if (file.lines[i].starts_with('#')) return std::string::npos;
  const std::size_t at = file.lines[i].rfind("  // ");
  const std::size_t code = file.code[i].find_last_not_of(' ');
  return at == std::string::npos || code == std::string::npos || code > at ? std::string::npos
                                                                           : at + 2;
}

// Goes on in the lines below where those are nothing but comment, in the same column.
std::string_view end_of_comment(const File& file, std::size_t i, std::size_t column) {
  while (i + 1 < file.lines.size() && file.lines[i + 1].find_first_not_of(' ') == column &&
         file.lines[i + 1].substr(column).starts_with("//"))
    ++i;
  return trimmed(file.lines[i]);
}

// Formulas and words in small letters are no sentences.
void check_sentences(const File& file, const Tree&, Report& report) {
  if (!file.is_cpp()) return;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::size_t column = comment_beside_code(file, i);
    if (column == std::string::npos) continue;
    const unsigned char first = static_cast<unsigned char>(file.lines[i][column + 3]);
    const unsigned char last = static_cast<unsigned char>(end_of_comment(file, i, column).back());
    if (std::isupper(first) && (std::isalpha(last) || last == ','))
      report.add(i,
                 "a comment beside code is a whole sentence, with a full stop: a reader sees "
                 "one line of it");
  }
}

constexpr std::array kRules = {
    Rule{"includes", "a folder includes itself and what its link line names", check_includes},
    Rule{"layers", "a folder's link line names lower layers only", check_link_lines},
    Rule{"owned",
         "LibTorch is seen by torch/ only, CUDA by cuda/, ZeroMQ by live/link/, libsodium by "
         "live/sign/, MPI by cluster/",
         check_heavy_includes},
    Rule{"standard", "a file includes what it uses of the standard library", check_standard_names},
    Rule{"own", "a file includes what defines the types of ours it uses", check_own_names},
    Rule{"clock", "no wall clock outside live/, the stopwatch and a summary's date", check_clock},
    Rule{"randomness", "every draw descends from the seed", check_randomness},
    Rule{"output", "a line that cannot be printed ends nothing and is not forgotten", check_output},
    Rule{"paths", "no paths of one machine", check_paths},
    Rule{"leftovers", "no notes to self", check_leftovers},
    Rule{"columns", "lines of at most 100 columns", check_line_length},
    Rule{"functions", "functions of at most 60 lines, or a reason", check_function_length},
    Rule{"files", "files of at most 500 lines", check_file_length},
    Rule{"companion", "every source has a header or says what it is for", check_companion},
    Rule{"header", "headers explain themselves and are included once", check_header},
    Rule{"using", "headers open no namespaces", check_using},
    Rule{"members", "classes of at most 15 members", check_members},
    Rule{"unused", "what a header declares is called somewhere", check_unused},
    Rule{"sentences", "a comment beside code does not go on beside other code", check_sentences},
    Rule{"packages", "what a folder needs is set up and credited", check_packages},
    Rule{"shell", "scripts stop at the first failure", check_shell},
    Rule{"links", "links in pages lead somewhere", check_links},
};

}  // namespace

void Rule::Report::add(std::size_t line, std::string_view what) {
  findings_.push_back(fmt::format("{}:{}: {}: {}", file_.path, line + 1, rule_, what));
}

std::span<const Rule> rules() {
  return kRules;
}

Findings check_file(const Rule& rule, const File& file, const Tree& tree) {
  Findings findings;
  Rule::Report report(rule.name, file, findings);
  rule.check(file, tree, report);
  return findings;
}

Findings check_tree(const Tree& tree) {
  Findings findings;
  for (const auto& [path, file] : tree)
    for (const Rule& rule : rules())
      for (std::string& finding : check_file(rule, file, tree))
        findings.push_back(std::move(finding));
  return findings;
}

}  // namespace tessera::tidy
