// Values in the grammar of base/spec.h. Which options a row has, and what they look like, is read
// off its usage.
#include <algorithm>
#include <array>

#include "base/table.h"
#include "base/text.h"
#include "cli/complete.h"

namespace tessera {
namespace {

struct UsageOption {
  std::string_view name{};
  std::string_view example{};
  std::vector<std::string_view> others{};  // More words that would do.
};

// Words beside the rows' names.
struct ExtraWord {
  std::string_view name{};  // The kind's.
  std::string_view word{};
};
constexpr std::array kExtraWords = {ExtraWord{"rules", "auto"}, ExtraWord{"codecs", "auto"},
                                    ExtraWord{"faults", "none"}, ExtraWord{"merges", "none"}};

void add_extra_words(const ListedKind& kind, std::string_view typed, std::vector<Candidate>& out) {
  for (const ExtraWord& extra : kExtraWords)
    if (extra.name == kind.name && extra.word.starts_with(typed))
      out.push_back({std::string(extra.word), ""});
}

// "jwins:wavelet=sym2,levels=4" and "schedule=step,every=1000" alike.
void add_options(std::string_view usage, std::vector<UsageOption>& options) {
  const std::size_t colon = usage.find(':');
  if (colon < usage.find('=')) usage.remove_prefix(colon + 1);
  for (const std::string_view part : split(usage, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == part.npos) continue;
    const UsageOption option{.name = part.substr(0, equals), .example = part.substr(equals + 1)};
    const auto known = std::find_if(options.begin(), options.end(), [&](const UsageOption& other) {
      return other.name == option.name;
    });
    if (known == options.end())
      options.push_back(option);
    else if (known->example != option.example)
      known->others.push_back(option.example);
  }
}

// Groups after the first are options that every row of the first has: trainings' schedules.
std::vector<UsageOption> options_of(const std::vector<ListedGroup>& groups, const ListedRow& row) {
  std::vector<UsageOption> options;
  add_options(row.usage, options);
  for (std::size_t g = 1; g < groups.size(); ++g)
    for (const ListedRow& more : groups[g].rows) add_options(more.usage, options);
  return options;
}

// "wavelet" asks for one of the wavelets, "loss" for one of the losses.
const ListedKind* kind_of_option(std::string_view option) {
  for (const ListedKind& kind : listed_kinds())
    if (kind.name == std::string(option) + "s" || kind.name == std::string(option) + "es")
      return &kind;
  return nullptr;
}

// An example may stand for what only its reader knows: "…", FILE, a path.
bool can_be_taken(std::string_view example) {
  return !example.empty() && !example.starts_with("…") && example != "FILE";
}

std::vector<Candidate> values_of(const UsageOption& option, std::string_view typed) {
  if (option.name == "file" || option.name == "dir") return {};
  if (const ListedKind* kind = kind_of_option(option.name)) return complete_line(*kind, typed);
  std::vector<std::string_view> words = option.others;
  words.insert(words.begin(), option.example);
  if (option.example == "yes" || option.example == "no") words = {"yes", "no"};
  std::vector<Candidate> out;
  for (const std::string_view word : words)
    if (can_be_taken(word) && word.starts_with(typed)) out.push_back({std::string(word), ""});
  return out;
}

void put_before(std::string_view text, std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) candidate.word.insert(0, text);
}

// The last of "budget=0.1,lev": the name of an option, or its value.
std::vector<Candidate> complete_options(std::span<const UsageOption> options,
                                        std::string_view typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string_view before = comma == typed.npos ? "" : typed.substr(0, comma + 1);
  const std::string_view last = typed.substr(before.size());
  const std::size_t equals = last.find('=');
  std::vector<Candidate> out;
  for (const UsageOption& option : options) {
    const std::string assigned = std::string(option.name) + "=";
    if (equals != last.npos && last.starts_with(assigned)) {
      out = values_of(option, last.substr(assigned.size()));
      put_before(assigned, out);
      break;
    }
    const bool is_given =
        before.starts_with(assigned) || before.find("," + assigned) != before.npos;
    if (equals == last.npos && assigned.starts_with(last) && !is_given)
      out.push_back({assigned, fmt::format("such as {}", option.example)});
  }
  put_before(before, out);
  return out;
}

// A line of faults has no name: its rows are options.
std::vector<Candidate> complete_faults(const ListedKind& kind, std::string_view typed) {
  const std::vector<ListedGroup> groups = kind.groups();
  std::vector<UsageOption> options;
  for (const ListedRow& row : groups.front().rows) {
    const std::size_t own = row.usage.find(std::string(row.name) + "=");
    options.push_back({.name = row.name, .example = row.usage.substr(own + row.name.size() + 1)});
  }
  const std::size_t attack = typed.rfind("attack=");
  if (attack != typed.npos && typed.find(',', attack) == typed.npos) {
    std::vector<Candidate> out = values_of({.name = "attack"}, typed.substr(attack + 7));
    put_before(typed.substr(0, attack + 7), out);
    return out;
  }
  std::vector<Candidate> out = complete_options(options, typed);
  add_extra_words(kind, typed, out);
  return out;
}

// INDICES+VALUES.
std::vector<Candidate> complete_codec(const ListedKind& kind, std::string_view typed) {
  const std::vector<ListedGroup> groups = kind.groups();
  const std::size_t plus = typed.find('+');
  const bool is_value = plus != typed.npos;
  const std::string_view before = is_value ? typed.substr(0, plus + 1) : "";
  std::vector<Candidate> out;
  for (const ListedRow& row : groups[is_value ? 1 : 0].rows)
    if (row.name.starts_with(typed.substr(before.size())))
      out.push_back({std::string(row.name) + (is_value ? "" : "+"), std::string(row.summary)});
  put_before(before, out);
  add_extra_words(kind, typed, out);
  return out;
}

std::vector<Candidate> complete_name(const ListedKind& kind, std::string_view typed) {
  const std::vector<ListedGroup> groups = kind.groups();
  std::vector<Candidate> out;
  bool has_options = false;
  for (const ListedRow& row : groups.front().rows) {
    if (!row.name.starts_with(typed)) continue;
    out.push_back({std::string(row.name), std::string(row.summary)});
    has_options = row.usage.starts_with(std::string(row.name) + ":");
  }
  add_extra_words(kind, typed, out);
  // Two words keep a shell from believing that the first is finished.
  if (out.size() == 1 && has_options) out.push_back({out.front().word + ":", "with options"});
  return out;
}

}  // namespace

std::vector<Candidate> complete_line(const ListedKind& kind, std::string_view typed) {
  if (kind.name == "codecs") return complete_codec(kind, typed);
  if (kind.name == "faults") return complete_faults(kind, typed);
  const std::size_t colon = typed.find(':');
  if (colon == typed.npos) return complete_name(kind, typed);
  const std::vector<ListedGroup> groups = kind.groups();
  const std::span<const ListedRow> rows = groups.front().rows;
  const ListedRow* row = find_entry(rows, typed.substr(0, colon));
  if (row == nullptr) return {};
  std::vector<Candidate> out = complete_options(options_of(groups, *row), typed.substr(colon + 1));
  put_before(typed.substr(0, colon + 1), out);
  return out;
}

}  // namespace tessera
