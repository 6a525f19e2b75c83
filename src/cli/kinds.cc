#include "cli/kinds.h"

#include <array>

#include "attack/attack.h"
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

using Groups = std::vector<ListedGroup>;

template <typename Entry>
void add_rows(std::span<const Entry> table, std::vector<ListedRow>& rows) {
  for (const Entry& entry : table) {
    ListedRow row{.name = entry.name, .summary = entry.summary};
    if constexpr (requires { entry.usage; }) row.usage = entry.usage;
    rows.push_back(row);
  }
}

template <typename Entry>
ListedGroup group_of(std::span<const Entry> table, std::string_view title = "") {
  ListedGroup group{.title = title};
  add_rows(table, group.rows);
  return group;
}

Groups model_groups() {
  ListedGroup group = group_of(models());
  for (const Backend& backend : backends()) add_rows(backend.models, group.rows);
  return {group};
}

Groups training_groups() {
  return {group_of(trainings()),
          group_of(rate_schedules(), "schedule of the learning rate, counted in local steps")};
}

Groups codec_groups() {
  return {group_of(index_codecs(), "indices"), group_of(value_codecs(), "values")};
}

constexpr std::array kKinds = {
    ListedKind{"datasets", "what to learn from: data=…",
               [] { return Groups{group_of(datasets())}; }},
    ListedKind{"partitions", "who gets which samples: partition=…",
               [] { return Groups{group_of(partitions())}; }},
    ListedKind{"merges", "when all nodes average exactly: merge=…",
               [] { return Groups{group_of(merges())}; }},
    ListedKind{"topologies", "who may talk to whom: topology=…",
               [] { return Groups{group_of(topologies())}; }},
    ListedKind{"protocols", "when nodes talk: protocol=…",
               [] { return Groups{group_of(protocols())}; }},
    ListedKind{"sharings", "what they tell: sharing=…",
               [] { return Groups{group_of(sharings())}; }},
    ListedKind{"rules", "how what they tell is averaged: rule=…, or auto",
               [] { return Groups{group_of(rules())}; }},
    ListedKind{"networks", "how long messages take: network=…",
               [] { return Groups{group_of(networks())}; }},
    ListedKind{"computes", "how long training takes: compute=…",
               [] { return Groups{group_of(computes())}; }},
    ListedKind{"faults", "what goes wrong: faults=…",
               [] { return Groups{group_of(fault_kinds())}; }},
    ListedKind{"attacks", "what hostile nodes do: faults=hostile=2,attack=…",
               [] { return Groups{group_of(attacks())}; }},
    ListedKind{"codecs", "how it is written: codec=INDICES+VALUES or auto", codec_groups},
    ListedKind{"models", "what is learnt: model=…", model_groups},
    ListedKind{"trainings", "how a node learns between two rounds: training=…", training_groups},
    ListedKind{"losses", "what training makes small: it follows from the data",
               [] { return Groups{group_of(losses())}; }},
    ListedKind{"wavelets", "filters of the wavelet transform",
               [] { return Groups{group_of(wavelet_filters())}; }},
};

}  // namespace

std::span<const ListedKind> listed_kinds() {
  return kKinds;
}

}  // namespace tessera
