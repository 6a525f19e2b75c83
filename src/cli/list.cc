#include <fmt/format.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/table.h"
#include "cli/command.h"
#include "math/wavelet.h"

namespace tessera {
namespace {

template <typename Entry>
void print_table(std::span<const Entry> table) {
  for (const Entry& entry : table) fmt::print("{:<12} {}\n", entry.name, entry.summary);
}

struct Kind {
  std::string_view name{};
  std::string_view summary{};
  void (*print)() = nullptr;
};

constexpr std::array kKinds = {
    Kind{"wavelets", "filters of the wavelet transform", [] { print_table(wavelet_filters()); }},
};

}  // namespace

Action add_list(CLI::App& parser) {
  auto chosen = std::make_shared<std::string>();
  parser.add_option("kind", *chosen, "What to list; without it, the kinds themselves");
  return [chosen] {
    const std::span<const Kind> kinds(kKinds);
    if (chosen->empty())
      print_table(kinds);
    else
      require_entry(kinds, "kind", *chosen).print();
    return 0;
  };
}

}  // namespace tessera
