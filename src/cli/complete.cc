#include "cli/complete.h"

#include <array>

#include "base/output.h"
#include "base/table.h"
#include "base/text.h"
#include "report/curve.h"
#include "report/table_text.h"

namespace tessera {
namespace {

using Candidates = std::vector<Candidate>;

template <typename Entry>
Candidates names_of(std::span<const Entry> table) {
  Candidates out;
  for (const Entry& entry : table) {
    out.push_back({std::string(entry.name), ""});
    if constexpr (requires { entry.summary; }) out.back().note = std::string(entry.summary);
  }
  return out;
}

// Values that no list has, by the flag or word they are for.
struct Choices {
  std::string_view name{};
  Candidates (*words)() = nullptr;
};
constexpr std::array kChoices = {
    Choices{"kind", [] { return names_of(listed_kinds()); }},
    Choices{"--band", [] { return names_of(bands()); }},
    Choices{"--format", [] { return names_of(table_formats()); }},
    Choices{"--log",
            [] {
              return Candidates{{"text", ""}, {"json", "an object a line"}};
            }},
    Choices{"--device",
            [] {
              return Candidates{{"cpu", ""}, {"cuda", ""}};
            }},
    Choices{"--export-as",
            [] {
              return Candidates{{"safetensors", ""}, {"npz", "NumPy"}, {"pt", "TorchScript"}};
            }},
};

Candidates beginning_with(std::string_view typed, const Candidates& all) {
  Candidates out;
  for (const Candidate& each : all)
    if (each.word.starts_with(typed)) out.push_back(each);
  return out;
}

// A summary says where its values are listed: "What they tell, see: tessera list sharings".
const ListedKind* kind_named_in(std::string_view summary) {
  constexpr std::string_view kSee = "see: tessera list ";
  const std::size_t at = summary.find(kSee);
  if (at == summary.npos) return nullptr;
  const std::string_view name = summary.substr(at + kSee.size());
  return find_entry(listed_kinds(), name.substr(0, name.find_first_of(" ,;.\n")));
}

// Or it lists them itself, a line each: "Which shell's:\n  bash  goes to ...".
Candidates lines_of(std::string_view summary) {
  Candidates out;
  for (const std::string_view line : split(summary, '\n')) {
    if (!line.starts_with("  ")) continue;
    const std::string_view row = trimmed(line);
    const std::size_t space = row.find(' ');
    const std::string_view note = space == row.npos ? "" : trimmed(row.substr(space));
    out.push_back({std::string(row.substr(0, space)), std::string(note)});
  }
  return out;
}

Candidates values_for(const FlagHelp& flag, std::string_view typed) {
  if (const ListedKind* kind = kind_named_in(flag.summary)) return complete_line(*kind, typed);
  if (const Choices* choices = find_entry(std::span<const Choices>(kChoices), flag.name))
    return beginning_with(typed, choices->words());
  return beginning_with(typed, lines_of(flag.summary));
}

Candidates flags_of(const CommandHelp& command, std::string_view typed) {
  Candidates out;
  for (const FlagHelp& flag : command.flags)
    out.push_back({flag.name + (flag.takes_value ? "=" : ""), flag.summary});
  out.push_back({"--help", "What the command does and takes"});
  return beginning_with(typed, out);
}

bool waits_for_value(const CommandHelp& command, const std::string& word) {
  const FlagHelp* flag = find_entry(std::span<const FlagHelp>(command.flags), word);
  return flag != nullptr && flag->takes_value;
}

// The words that stand by their place: the last of a command's may be there many times.
Candidates complete_place(const CommandHelp& command, std::span<const std::string> words) {
  std::size_t place = 0;
  for (std::size_t w = 0; w + 1 < words.size(); ++w) {
    if (waits_for_value(command, words[w]))
      ++w;
    else if (!words[w].starts_with("-"))
      ++place;
  }
  if (place >= command.words.size()) {
    if (command.words.empty() || !command.words.back().repeats) return {};
    place = command.words.size() - 1;
  }
  return values_for(command.words[place], words.back());
}

// `words` are those after the command's name.
Candidates complete_command(const CommandHelp& command, std::span<const std::string> words) {
  const std::string& typed = words.back();
  if (!command.parts.empty()) {
    if (words.size() == 1 && !typed.starts_with("-"))
      return beginning_with(typed, names_of(std::span<const CommandHelp>(command.parts)));
    const CommandHelp* part =
        find_entry(std::span<const CommandHelp>(command.parts), words.front());
    if (part != nullptr && words.size() > 1) return complete_command(*part, words.subspan(1));
  }
  const std::span<const FlagHelp> flags(command.flags);
  if (words.size() > 1 && waits_for_value(command, words[words.size() - 2]))
    return values_for(*find_entry(flags, words[words.size() - 2]), typed);
  if (!typed.starts_with("-")) return complete_place(command, words);
  const std::size_t equals = typed.find('=');
  if (equals == typed.npos) return flags_of(command, typed);
  const FlagHelp* flag = find_entry(flags, typed.substr(0, equals));
  if (flag == nullptr) return {};
  Candidates out = values_for(*flag, std::string_view(typed).substr(equals + 1));
  for (Candidate& candidate : out) candidate.word.insert(0, typed.substr(0, equals + 1));
  return out;
}

// What a shell shows beside a word: the first clause.
std::string_view clause(std::string_view text) {
  return text.substr(0, text.find_first_of("\n\t;"));
}

}  // namespace

std::vector<Candidate> complete(const ProgramHelp& program, std::span<const std::string> words) {
  const std::span<const CommandHelp> commands(program.commands);
  if (words.size() <= 1) {
    Candidates all = names_of(commands);
    all.push_back({"--help", "The commands"});
    all.push_back({"--version", "The version"});
    return beginning_with(words.empty() ? "" : words.front(), all);
  }
  const CommandHelp* command = find_entry(commands, words.front());
  return command == nullptr ? Candidates{} : complete_command(*command, words.subspan(1));
}

int print_candidates(const ProgramHelp& program, std::span<char* const> words) {
  const std::vector<std::string> texts(words.begin(), words.end());
  for (const Candidate& each : complete(program, texts))
    print_out("{}\t{}\n", each.word, clause(each.note));
  return 0;
}

}  // namespace tessera
