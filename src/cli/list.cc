#include <CLI/CLI.hpp>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attack/attack.h"
#include "base/output.h"
#include "base/table.h"
#include "cli/command.h"
#include "codec/codec.h"
#include "data/datasets.h"
#include "data/partition.h"
#include "learn/loss.h"
#include "learn/models.h"
#include "learn/training.h"
#include "math/wavelet.h"
#include "protocol/protocols.h"
#include "run/backends.h"
#include "run/merge_plan.h"
#include "sharing/sharing.h"
#include "sim/compute.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "topology/topology.h"

namespace tessera {
namespace {

template <typename Entry>
void print_table(std::span<const Entry> table) {
  for (const Entry& entry : table) print_out("{:<12} {}\n", entry.name, entry.summary);
}

template <typename Entry>
void print_usage(std::span<const Entry> table) {
  for (const Entry& entry : table)
    print_out("{:<12} {}\n{:<12} {}\n", entry.name, entry.summary, "", entry.usage);
}

void print_models() {
  print_usage(models());
  for (const Backend& backend : backends()) print_usage(backend.models);
}

void print_trainings() {
  print_usage(trainings());
  print_out("\nschedule of the learning rate, counted in local steps\n");
  print_usage(rate_schedules());
}

void print_codecs() {
  print_out("indices\n");
  print_table(index_codecs());
  print_out("\nvalues\n");
  print_table(value_codecs());
}

struct Kind {
  std::string_view name{};
  std::string_view summary{};
  void (*print)() = nullptr;
};

constexpr std::array kKinds = {
    Kind{"datasets", "what to learn from: data=…", [] { print_usage(datasets()); }},
    Kind{"partitions", "who gets which samples: partition=…", [] { print_usage(partitions()); }},
    Kind{"merges", "when all nodes average exactly: merge=…", [] { print_usage(merges()); }},
    Kind{"topologies", "who may talk to whom: topology=…", [] { print_usage(topologies()); }},
    Kind{"protocols", "when nodes talk: protocol=…", [] { print_usage(protocols()); }},
    Kind{"sharings", "what they tell: sharing=…", [] { print_usage(sharings()); }},
    Kind{"rules", "how what they tell is averaged: rule=…, or auto", [] { print_usage(rules()); }},
    Kind{"networks", "how long messages take: network=…", [] { print_usage(networks()); }},
    Kind{"computes", "how long training takes: compute=…", [] { print_usage(computes()); }},
    Kind{"faults", "what goes wrong: faults=…", [] { print_usage(fault_kinds()); }},
    Kind{"attacks", "what hostile nodes do: faults=hostile=2,attack=…",
         [] { print_usage(attacks()); }},
    Kind{"codecs", "how it is written: codec=INDICES+VALUES or auto", print_codecs},
    Kind{"models", "what is learnt: model=…", print_models},
    Kind{"trainings", "how a node learns between two rounds: training=…", print_trainings},
    Kind{"losses", "what training makes small: it follows from the data",
         [] { print_usage(losses()); }},
    Kind{"wavelets", "filters of the wavelet transform", [] { print_table(wavelet_filters()); }},
};

}  // namespace

Action add_list(CLI::App& parser) {
  auto chosen = std::make_shared<std::string>();
  parser.add_option("kind", *chosen, "What to list; without it, the kinds themselves");
  parser.footer(
      "Examples:\n"
      "  tessera list\n"
      "  tessera list sharings");
  return [chosen](const std::string&) {
    const std::span<const Kind> kinds(kKinds);
    if (chosen->empty())
      print_table(kinds);
    else
      require_entry(kinds, "kind", *chosen).print();
    return 0;
  };
}

}  // namespace tessera
