// Short experiments of every kind, for tests that carry each out on several ranks: every protocol,
// kind of sharing, network and fault, and models with momentum, own samples and a last merge.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "run/simulated_run.h"

namespace tessera {

struct NamedExperiment {
  std::string name{};
  Experiment experiment{};
};

// tidy: long because it is a table.
inline std::vector<NamedExperiment> ranks_matrix() {
  using E = Experiment;
  std::vector<NamedExperiment> all;
  const auto add = [&](const char* name,
                       std::initializer_list<std::pair<std::string E::*, const char*>> lines) {
    E experiment{.nodes = "9", .model = "quadratic:dimension=200", .evaluate = "every=2s"};
    for (const auto& [key, value] : lines) experiment.*key = value;
    all.push_back({name, experiment});
  };
  add("full", {{&E::protocol, "dpsgd:rounds=6"}, {&E::evaluate, "every=2"}});
  add("full-fifo",
      {{&E::protocol, "dpsgd:rounds=6"},
       {&E::network, "fifo:up=1Mbit/s,down=2Mbit/s,latency=3ms,stragglers=2,slowdown=5"}});
  add("jwins-links", {{&E::protocol, "dpsgd:rounds=6"},
                      {&E::sharing, "jwins"},
                      {&E::network, "links:up=100kbit/s,down=1Mbit/s,latency=3ms"}});
  add("random-redrawn", {{&E::protocol, "dpsgd:rounds=6"},
                         {&E::topology, "regular:degree=4,redraw=yes"},
                         {&E::sharing, "random:budget=0.3"}});
  add("choco", {{&E::protocol, "dpsgd:rounds=6"}, {&E::sharing, "choco"}});
  add("loop-loss", {{&E::protocol, "dpsgd:rounds=6,patience=3s"},
                    {&E::sharing, "loop:refresh=4"},
                    {&E::codec, "range+grid"},
                    {&E::faults, "loss=0.05,duplicate=0.05"}});
  add("moniqua",
      {{&E::protocol, "dpsgd:rounds=6"}, {&E::sharing, "moniqua"}, {&E::codec, "range+grid"}});
  add("mosaic",
      {{&E::protocol, "epidemic:fanout=2,rounds=6"}, {&E::sharing, "fragments:fraction=0.25"}});
  add("epidemic-patient",
      {{&E::protocol, "epidemic:fanout=3,rounds=6,patience=2s"}, {&E::faults, "loss=0.05"}});
  add("divshare", {{&E::protocol, "divshare:fanout=3,until=6s"},
                   {&E::sharing, "fragments"},
                   {&E::network, "fifo:up=200kbit/s,stragglers=3,slowdown=5"}});
  add("divshare-wavelet", {{&E::protocol, "divshare:fanout=3,until=6s"},
                           {&E::sharing, "jwins:budget=0.3,pieces=6"},
                           {&E::codec, "gamma+int8"},
                           {&E::compute, "lognormal:round=0.75s,sigma=0.3"},
                           {&E::network, "fifo:up=100kbit/s,half_sent=finished"}});
  add("adpsgd-pairs", {{&E::nodes, "10"},
                       {&E::topology, "bipartite:degree=4"},
                       {&E::protocol, "adpsgd:until=6s"},
                       {&E::network, "fifo:up=1Mbit/s"}});
  add("adpsgd-pings",
      {{&E::protocol, "adpsgd:form=pings,fanout=3,until=6s"}, {&E::network, "links:up=1Mbit/s"}});
  add("swift", {{&E::protocol, "swift:until=6s"}, {&E::network, "fifo:up=500kbit/s"}});
  add("spikes", {{&E::protocol, "divshare:fanout=3,until=6s"},
                 {&E::sharing, "fragments"},
                 {&E::faults, "reorder=0.2@50ms,spike=0.02@2s"}});
  add("crashes", {{&E::protocol, "dpsgd:rounds=8,patience=2s"},
                  {&E::faults, "crash=6s/2s,snapshot=2s,heal=12s"},
                  {&E::network, "links:up=1Mbit/s"}});
  add("crashes-forgotten", {{&E::protocol, "divshare:fanout=3,until=9s"},
                            {&E::sharing, "fragments"},
                            {&E::faults, "crash=6s/2s,memory=nothing"}});
  add("hostile", {{&E::protocol, "dpsgd:rounds=6,patience=2s"},
                  {&E::faults, "hostile=2,attack=alie"},
                  {&E::rule, "trimmed:drop=1"}});
  add("partition-merge", {{&E::protocol, "dpsgd:rounds=6,patience=2s"},
                          {&E::merge, "end"},
                          {&E::faults, "partition=1s/2s,heal=3s"}});
  add("mlp-momentum", {{&E::data, "synthetic:samples=200,test=40"},
                       {&E::partition, "shards:per_node=2"},
                       {&E::model, "mlp:hidden=20"},
                       {&E::training, "sgd:lr=0.05,batch=8,steps=3,momentum=0.9"},
                       {&E::protocol, "dpsgd:rounds=4"},
                       {&E::sharing, "jwins"},
                       {&E::evaluate, "every=1"}});
  return all;
}

// Everything a run says in the end, but for the time it took.
inline std::string story_of(SimulatedRun& run) {
  std::string story;
  run.on_row([&](const MetricsRow& row) { story += to_json_line(row) + "\n"; });
  Summary summary = run.to_end();
  summary.took = {};
  summary.peak_rss_bytes = 0;
  return story + to_json(summary);
}

}  // namespace tessera
