// Checkpoints that somebody changed and gave a right checksum again. Such a one is refused with a
// reason, or what it says can be lived with: the run ends, or stops with a reason of its own.
#pragma once

#include <exception>
#include <iterator>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/random.h"
#include "run/simulated_run.h"

namespace tessera {

class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  // One byte, or a number of eight, is another one now.
  void change(Bytes& bytes) {
    const std::size_t at = random_.below(bytes.size());
    if (random_.below(3) > 0) {
      bytes[at] ^= static_cast<std::byte>(1 + random_.below(255));
      return;
    }
    constexpr std::uint64_t kNumbers[] = {0,
                                          1,
                                          0x7fffffffffffffff,
                                          1ull << 63,
                                          0xffffffffffffffff,
                                          0x7ff0000000000000,
                                          0x7ff8000000000000,
                                          0x7fefffffffffffff,
                                          4'000'000'000'000'000'000};
    const std::uint64_t number = kNumbers[random_.below(std::size(kNumbers))];
    const ByteSpan raw = bytes_of(std::span(&number, 1));
    for (std::size_t i = 0; i < raw.size() && at + i < bytes.size(); ++i) bytes[at + i] = raw[i];
  }

 private:
  Random random_;
};

// Of every protocol and sharing that saves something of its own, on every kind of network.
inline std::vector<Experiment> busy_experiments() {
  const std::string faults =
      "loss=0.05,duplicate=0.2,reorder=0.5@2s,crash=6s/2s,snapshot=1s,heal=60s";
  const std::string links = "links:up=3kB/s,down=3kB/s,latency=200ms,parallel=2";
  const std::string fifo = "fifo:up=3kB/s,down=3kB/s,latency=200ms,stragglers=2";
  const Experiment toy{.nodes = "6", .model = "quadratic:dimension=40", .topology = "ring"};
  std::vector<Experiment> all;
  const auto add = [&](const char* protocol, const char* sharing, const std::string& network,
                       const std::string& trouble, const char* evaluate = "") {
    all.push_back(toy);
    all.back().protocol = protocol;
    all.back().sharing = sharing;
    all.back().network = network;
    all.back().faults = trouble;
    all.back().evaluate = evaluate;
    all.back().compute = "normal:round=700ms,deviation=0.3";
  };
  add("dpsgd:rounds=20", "full", "ideal", "none", "every=3");
  add("dpsgd:rounds=20,patience=3s", "jwins", links, faults, "every=3");
  add("dpsgd:rounds=20", "choco", fifo, "none", "every=2");
  add("dpsgd:rounds=20,patience=2s", "topk:budget=0.3", fifo, faults, "every=2s");
  add("epidemic:rounds=20,fanout=2,patience=3s", "random:budget=0.5", links, faults, "every=3");
  add("dpsgd:rounds=20,patience=3s", "loop:refresh=4", fifo, faults, "every=3");
  add("epidemic:rounds=20,fanout=2,patience=3s", "fragments:fraction=0.3", links, faults,
      "every=3");
  add("divshare:fanout=2,until=15s", "fragments:fraction=0.3", links, faults);
  add("divshare:fanout=2,rounds=15", "jwins:pieces=3", fifo, "none", "every=2s");
  add("adpsgd:form=pings,fanout=2,until=15s", "full", links, faults);
  add("adpsgd:form=pairwise,patience=5s,until=15s", "full", fifo, faults);
  all.back().topology = "line";
  add("swift:form=graph,every=2,missing=stored,until=15s", "full", links, faults);
  add("swift:form=scatter,fanout=2,until=15s", "topk:budget=0.3", fifo, "none");
  add("dpsgd:rounds=6", "full", "ideal", "none", "every=2");
  all.back().data = "synthetic:samples=120,test=30,shape=6,classes=3";
  all.back().model = "mlp:hidden=4";
  all.back().training = "sgd:lr=0.05,batch=4,steps=2,momentum=0.9";
  return all;
}

struct SavedRun {
  Experiment experiment{};
  Bytes state{};
};

// As the run stands after so many steps.
inline SavedRun save_after(const Experiment& experiment, int steps) {
  SavedRun saved{.experiment = experiment};
  SimulatedRun run(read_plan(experiment), 1);
  run.start();
  for (int i = 0; i < steps; ++i)
    if (!run.step()) break;
  save_fields(run, saved.state);
  return saved;
}

enum class Outcome { kRefused, kStopped, kRan };

// Loads `state` into such a run and goes on for so many steps.
inline Outcome go_on(const Experiment& experiment, ByteSpan state, int steps) {
  SimulatedRun run(read_plan(experiment), 1);
  std::size_t rows = 0;
  run.on_row([&](const MetricsRow& row) { rows += to_json_line(row).size(); });
  ByteReader in(state);
  if (!load_fields(run, in).ok()) return Outcome::kRefused;
  try {
    while (steps-- > 0 && run.step()) continue;
    if (run.simulation().finished()) run.finish();
    (void)to_json(run.summary());
  } catch (const std::exception&) {  // A model that diverged, nodes that wait for ever.
    return Outcome::kStopped;
  }
  return Outcome::kRan;
}

}  // namespace tessera
