// Merges as part of a run: every node ends with the mean of the models that the same run without a
// merge ends with, whatever protocol and sharing came before.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attack/liar.h"
#include "learn/export.h"
#include "run/simulated_run.h"

namespace tessera {
namespace {

Experiment toy() {
  return {.nodes = "6",
          .model = "quadratic:dimension=40",
          .topology = "ring",
          .protocol = "dpsgd:rounds=6",
          .evaluate = "every=2s"};
}

std::vector<std::span<const float>> models_of(const SimulatedRun& run) {
  std::vector<std::span<const float>> models;
  for (NodeId id = 0; id < run.plan().nodes; ++id)
    models.emplace_back(run.simulation().node(id).model());
  return models;
}

// How far from `mean` the farthest value of any node is.
double farthest(const SimulatedRun& run, std::span<const float> mean) {
  double most = 0;
  for (const auto model : models_of(run))
    for (std::size_t i = 0; i < mean.size(); ++i)
      most = std::max(most, std::abs(double{model[i]} - double{mean[i]}));
  return most;
}

std::uint64_t messages_of(const SimulatedRun& run) {
  std::uint64_t messages = 0;
  for (NodeId id = 0; id < run.plan().nodes; ++id) messages += run.simulation().sent(id).messages;
  return messages;
}

TEST(Merge, AtTheEndEveryNodeHasTheMean) {
  struct Case {
    const char* protocol;
    const char* sharing;
    const char* network;
  };
  const char* slow = "fifo:up=4kB/s,down=4kB/s,latency=5ms,stragglers=2,slowdown=3";
  for (const Case& one :
       {Case{"dpsgd:rounds=6", "full", "ideal"}, Case{"dpsgd:rounds=6", "jwins", slow},
        Case{"dpsgd:rounds=6", "choco", "ideal"},
        Case{"epidemic:fanout=2,rounds=6", "topk:budget=0.3", slow},
        Case{"divshare:fanout=2,until=7s", "fragments:fraction=0.25", slow},
        Case{"swift:until=7s", "full", slow}, Case{"adpsgd:until=7s", "full", slow},
        Case{"adpsgd:form=pings,fanout=2,until=7500ms", "full", slow}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", one.protocol, one.sharing, one.network));
    Experiment experiment = toy();
    experiment.protocol = one.protocol;
    experiment.sharing = one.sharing;
    experiment.network = one.network;
    SimulatedRun apart(read_plan(experiment), 1);
    (void)apart.to_end();
    const Vector mean = average_models(models_of(apart));
    ASSERT_GT(farthest(apart, mean), 0.05);
    experiment.merge = "end";
    SimulatedRun merged(read_plan(experiment), 2);
    const Summary summary = merged.to_end();
    EXPECT_LT(farthest(merged, mean), 1e-5);
    EXPECT_LT(summary.last.merged->distance, 1e-5);
    EXPECT_LT(summary.last.accuracy.max - summary.last.accuracy.min, 1e-9);
    EXPECT_EQ(merged.simulation().rounds_done(), apart.simulation().rounds_done());
    if (std::string_view(one.network) != "ideal") continue;
    // Six nodes take four steps of one peer; in two of them some are idle.
    std::size_t arcs = 0;
    for (Round step = 0; step < 4; ++step)
      for (NodeId id = 0; id < 6; ++id)
        arcs += merged.plan().merge->options.topology->weighted(step)->into(id).size();
    EXPECT_EQ(messages_of(merged), messages_of(apart) + arcs);
  }
}

TEST(Merge, EverySoManyRoundsAndAtTheEnd) {
  Experiment experiment = toy();
  experiment.protocol = "dpsgd:rounds=12";
  experiment.sharing = "jwins";
  experiment.evaluate = "every=1";
  experiment.merge = "every:rounds=5";
  experiment.network = "links:up=2kB/s,down=2kB/s,latency=20ms,stragglers=2,slowdown=5";
  SimulatedRun run(read_plan(experiment), 1);
  std::vector<Round> together;
  run.on_row([&](const MetricsRow& row) {
    if (row.merged->distance < 1e-5) together.push_back(row.round);
  });
  (void)run.to_end();
  EXPECT_EQ(together, (std::vector<Round>{5, 10, 12}));
}

// Nodes that wait for nobody train for a while, merge when so much time has passed, and train on.
TEST(Merge, EverySoOftenWhereNobodyWaits) {
  for (const char* protocol :
       {"divshare:fanout=2,until=20s", "adpsgd:form=pings,fanout=2,until=20s", "swift:until=20s",
        "adpsgd:until=20s"}) {
    Experiment experiment = toy();
    experiment.protocol = protocol;
    experiment.topology = "bipartite:degree=2";
    experiment.compute = "constant:round=1s";
    experiment.evaluate = "every=500ms";
    experiment.merge = "every:time=5s";
    SimulatedRun run(read_plan(experiment), 1);
    std::vector<double> together;
    run.on_row([&](const MetricsRow& row) {
      if (row.merged->distance < 1e-5 && row.round > 0) together.push_back(row.seconds);
    });
    const Summary summary = run.to_end();
    EXPECT_LT(summary.last.merged->distance, 1e-5) << protocol;
    for (const double moment : {5.5, 10.5, 15.5})
      EXPECT_EQ(std::count(together.begin(), together.end(), moment), 1)
          << protocol << " " << moment;
    EXPECT_EQ(std::count(together.begin(), together.end(), 7.5), 0) << protocol;
  }
}

// The straggler is in a training of seven seconds when the run ends and has not come to the third
// merge, for which the others wait: it comes to that and to the last.
TEST(Merge, OneThatEndsLateTakesPartInAllOfThem) {
  Experiment experiment = toy();
  experiment.protocol = "divshare:fanout=2,until=20s";
  experiment.compute = "constant:round=1s,stragglers=1,slowdown=7,noise=0";
  experiment.merge = "every:time=5s";
  SimulatedRun run(read_plan(experiment), 1);
  EXPECT_LT(run.to_end().last.merged->distance, 1e-5);
  for (NodeId id = 0; id < 6; ++id) EXPECT_TRUE(run.simulation().node(id).notes().empty()) << id;
}

// A world that writes down what a node does.
struct Post final : Env {
  Instant time{};
  std::vector<std::pair<NodeId, Payload>> sent{};
  std::vector<Instant> wakes{};
  bool trains = false;
  Instant now() const override { return time; }
  void send(NodeId to, Payload payload) override { sent.emplace_back(to, std::move(payload)); }
  void drop_unsent() override {}
  void wake_after(Duration delay) override { wakes.push_back(time + delay); }
  void train(const Vector&, Random) override { trains = true; }
};

// Two nodes merge after every round. One crashes while it trains after the first merge: it goes on
// with that training, and has the merge behind it.
TEST(Merge, ACrashRepeatsNoMerge) {
  Experiment experiment = toy();
  experiment.nodes = "2";
  experiment.protocol = "dpsgd:rounds=4";
  experiment.merge = "every:rounds=1";
  const Plan plan = read_plan(experiment);
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Post> worlds(2);
  for (NodeId id = 0; id < 2; ++id) {
    nodes.push_back(make_node(plan, id, Vector(40, 0.0f), {}));
    nodes[id]->handle(Started{}, worlds[id]);
  }
  for (NodeId id = 0; id < 2; ++id) {
    worlds[id].trains = false;
    nodes[id]->handle(Trained{Vector(40, 1.0f), 0}, worlds[id]);
  }
  std::size_t delivered = 0;
  for (int i = 0; i < 4; ++i)
    for (NodeId id = 0; id < 2; ++id)
      for (auto& [to, payload] : std::exchange(worlds[id].sent, {})) {
        nodes[to]->handle(Arrived{id, payload}, worlds[to]);
        ++delivered;
      }
  EXPECT_EQ(delivered, 4u);  // Both told the round and the merge.
  EXPECT_EQ(nodes[0]->rounds_done(), 1u);
  EXPECT_TRUE(worlds[0].trains);
  Bytes saved;
  save_fields(*nodes[0], saved);
  const auto again = make_node(plan, 0, Vector(40, 0.0f), {});
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(*again, in).ok());
  Post world;
  again->handle(Started{}, world);
  EXPECT_TRUE(world.trains);
  EXPECT_TRUE(world.sent.empty());
  EXPECT_EQ(again->rounds_done(), 1u);
}

// One of two was away for 500 s, in which there were 49 merges that took two seconds at most. It
// comes to the fiftieth, waits in vain, and trains.
TEST(Merge, OneThatWasAwayGoesThroughTheMergesThatAreOverNoMore) {
  Experiment experiment = toy();
  experiment.nodes = "2";
  experiment.protocol = "swift:until=1000s";
  experiment.merge = "every:time=10s,patience=2s";
  const Plan plan = read_plan(experiment);
  const auto node = make_node(plan, 0, Vector(40, 0.0f), {});
  Post world;
  node->handle(Started{}, world);
  world.time = Instant(std::chrono::seconds(500));
  world.sent.clear();
  world.trains = false;
  node->handle(Trained{Vector(40, 1.0f), 0}, world);
  EXPECT_EQ(node->notes().at("missed a merge"), 49u);
  ASSERT_FALSE(world.sent.empty());
  const auto& told = world.sent.back().second.letter->read();
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->message->heading.round, 49u);
  EXPECT_FALSE(world.trains);
  world.time += std::chrono::seconds(2);
  node->handle(Woke{}, world);
  EXPECT_TRUE(world.trains);
}

// All are as late: the rest of a training is longer than the patience of all steps.
TEST(Merge, ThoseThatWereNeverAwayMissNone) {
  Experiment experiment = toy();
  experiment.protocol = "swift:until=50s";
  experiment.compute = "constant:round=1s,noise=0";
  experiment.merge = "every:time=10500ms,patience=100ms";
  SimulatedRun run(read_plan(experiment), 1);
  run.to_end();
  for (NodeId id = 0; id < run.simulation().node_count(); ++id)
    EXPECT_FALSE(run.simulation().node(id).notes().contains("missed a merge")) << id;
}

// Messages are lost, nodes crash, come back late or not before the end: the run comes to its end,
// and models are means of models.
TEST(Merge, WhoIsMissingCostsAccuracyAndNotTheRun) {
  for (const char* faults : {"loss=0.2", "crash=6s/4s,snapshot=1s", "crash=3s/500s"})
    for (const char* protocol : {"dpsgd:rounds=10,patience=3s", "divshare:fanout=2,until=12s"}) {
      SCOPED_TRACE(fmt::format("{} {}", faults, protocol));
      Experiment experiment = toy();
      experiment.nodes = "10";
      experiment.protocol = protocol;
      experiment.faults = faults;
      experiment.merge = "end:patience=2s";
      SimulatedRun run(read_plan(experiment), 1);
      const Summary summary = run.to_end();
      EXPECT_LT(summary.last.loss.max, 2);
      std::uint64_t left_out = 0;
      for (NodeId id = 0; id < 10; ++id) {
        const auto& notes = run.simulation().node(id).notes();
        if (const auto found = notes.find("left out of a merge"); found != notes.end())
          left_out += found->second;
      }
      EXPECT_GT(left_out, 0u);
    }
}

// One of sixteen is down from before the merge until after it. Step s ends after s + 1 patiences at
// the latest, so nobody but those that meet it goes without a peer: four steps, four times.
TEST(Merge, OneThatIsDownIsMissedByItsOwnPeersOnly) {
  Experiment experiment = toy();
  experiment.nodes = "16";
  experiment.topology = "full";
  experiment.protocol = "dpsgd:rounds=3,patience=5s";
  experiment.merge = "end:patience=2s";
  experiment.compute = "constant:round=1s";
  experiment.faults = "none";
  const Plan plan = read_plan(experiment);
  // The sixteenth is never started: it is a node that nobody hears of.
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Post> worlds(15);
  for (NodeId id = 0; id < 15; ++id) {
    nodes.push_back(make_node(plan, id, Vector(40, 0.0f), {}));
    nodes[id]->handle(Started{}, worlds[id]);
  }
  // Trainings take a second, messages none.
  for (int second = 1; second < 60; ++second) {
    const Instant now{std::chrono::seconds(second)};
    for (NodeId id = 0; id < 15; ++id) {
      worlds[id].time = now;
      if (std::exchange(worlds[id].trains, false))
        nodes[id]->handle(Trained{Vector(40, static_cast<float>(id)), 0}, worlds[id]);
    }
    const auto deliver = [&] {
      for (bool any = true; any;) {
        any = false;
        for (NodeId id = 0; id < 15; ++id)
          for (auto& [to, payload] : std::exchange(worlds[id].sent, {})) {
            any = true;
            if (to < 15) nodes[to]->handle(Arrived{id, payload}, worlds[to]);
          }
      }
    };
    deliver();
    for (NodeId id = 0; id < 15; ++id)
      if (std::erase_if(worlds[id].wakes, [&](Instant at) { return at <= now; }) > 0)
        nodes[id]->handle(Woke{}, worlds[id]);
    deliver();
  }
  std::uint64_t left_out = 0;
  for (const auto& node : nodes) {
    EXPECT_TRUE(node->finished());
    const auto found = node->notes().find("left out of a merge");
    left_out += found == node->notes().end() ? 0 : found->second;
  }
  EXPECT_EQ(left_out, 4u);
}

// A live member that lies: what it says is looked at before it is averaged, and what is refused
// stops nobody, though all wait without end.
TEST(Merge, WhatIsRefusedIsLeftOut) {
  for (const char* attack : {"nan", "random:sigma=1e30"}) {
    SCOPED_TRACE(attack);
    constexpr NodeId kNodes = 6, kHostile = 2;
    Experiment experiment = toy();
    experiment.topology = "full";
    experiment.protocol = "dpsgd:rounds=3";
    experiment.merge = "every:rounds=1";
    const Plan plan = read_plan(experiment);
    Liar liar(kHostile, make_attack(attack), Random(7));
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Post> worlds(kNodes);
    for (NodeId id = 0; id < kNodes; ++id) {
      nodes.push_back(make_node(plan, id, Vector(40, 0.0f), {}));
      nodes[id]->handle(Started{}, worlds[id]);
    }
    for (bool any = true; std::exchange(any, false);)
      for (NodeId id = 0; id < kNodes; ++id) {
        if (std::exchange(worlds[id].trains, false))
          nodes[id]->handle(Trained{Vector(40, static_cast<float>(id)), 0}, worlds[id]);
        for (const auto& [to, truth] : std::exchange(worlds[id].sent, {})) {
          any = true;
          nodes[to]->handle(Arrived{id, id == kHostile ? liar.retell(truth) : truth}, worlds[to]);
        }
      }
    for (NodeId id = 0; id < kNodes; ++id) {
      EXPECT_TRUE(nodes[id]->finished()) << id << ": " << nodes[id]->waiting_for();
      for (const float x : nodes[id]->model()) ASSERT_TRUE(x >= 0 && x < kNodes) << id;
    }
  }
}

TEST(Merge, IsTheSameStoppedAndRestoredAndOnAnyThreads) {
  for (const char* protocol : {"dpsgd:rounds=4", "divshare:fanout=2,until=5s"}) {
    Experiment experiment = toy();
    experiment.protocol = protocol;
    experiment.merge = protocol[1] == 'p' ? "every:rounds=2,codec=gamma+q8,last=gamma+f32" : "end";
    experiment.network = "links:up=4kB/s,down=4kB/s,latency=20ms,stragglers=2,slowdown=5";
    const Plan plan = read_plan(experiment);
    SimulatedRun whole(plan, 3);
    const std::uint64_t digest = whole.to_end().model_digest;
    for (int stop = 1;; ++stop) {
      SimulatedRun run(plan, 1), again(plan, 1);
      run.start();
      bool more = true;
      for (int i = 0; i < stop && more; ++i) more = run.step();
      if (!more) break;
      Bytes state;
      save_fields(run, state);
      ByteReader in(state);
      ASSERT_TRUE(load_fields(again, in).ok()) << protocol << " " << stop;
      while (again.step()) continue;
      again.finish();
      ASSERT_EQ(again.summary().model_digest, digest) << protocol << " " << stop;
    }
  }
}

// Eight bits are near the mean and a quarter of the bytes.
TEST(Merge, TakesTheCodecNamedForIt) {
  const auto bytes_and_distance = [](const char* merge) {
    Experiment experiment = toy();
    experiment.model = "quadratic:dimension=4000";
    experiment.merge = merge;
    SimulatedRun run(read_plan(experiment), 1);
    const Summary summary = run.to_end();
    return std::pair(summary.last.bytes_per_node, summary.last.merged->relative_distance);
  };
  const double without = bytes_and_distance("none").first;
  const auto [exact, nothing] = bytes_and_distance("end:codec=raw32+f32");
  const auto [small, little] = bytes_and_distance("end:codec=raw32+int8");
  EXPECT_LT(nothing, 1e-6);
  EXPECT_LT(little, 0.05);
  EXPECT_NEAR((small - without) / (exact - without), 0.27, 0.03);
}

// Four bits in the middle of the run; what the last merge rounds is what stays between the nodes.
TEST(Merge, TheLastMayHaveACodecOfItsOwn) {
  struct Case {
    std::string protocol, often;
  };
  for (const Case& one :
       {Case{"dpsgd:rounds=6", "every:rounds=3"}, Case{"swift:until=7s", "every:time=4s"}}) {
    SCOPED_TRACE(one.protocol);
    const auto bytes_and_distance = [&](const std::string& codecs) {
      Experiment experiment = toy();
      experiment.model = "quadratic:dimension=4000";
      experiment.protocol = one.protocol;
      experiment.merge = one.often + codecs;
      SimulatedRun run(read_plan(experiment), 1);
      const Summary summary = run.to_end();
      return std::pair(summary.last.bytes_per_node, summary.last.merged->relative_distance);
    };
    const auto [rounded, apart] = bytes_and_distance(",codec=raw32+q4");
    const auto [last_exact, nothing] = bytes_and_distance(",codec=raw32+q4,last=raw32+f32");
    const auto [exact, as_little] = bytes_and_distance(",codec=raw32+f32");
    EXPECT_GT(apart, 0.01);
    EXPECT_LT(nothing, 1e-6);
    EXPECT_LT(as_little, 1e-6);
    // There are two merges.
    EXPECT_NEAR((exact - rounded) / (last_exact - rounded), 2, 0.02);
  }
}

// What changed since the nodes last had one model is small beside the model, and four bits are fine
// steps of it.
TEST(Merge, FewBitsAreFinerForWhatChangedSinceTheLast) {
  const auto models_after = [](const char* sharing, const char* codec) {
    Experiment experiment = toy();
    experiment.model = "quadratic:dimension=400,lr=0.02";
    experiment.protocol = "dpsgd:rounds=100";
    experiment.sharing = sharing;
    experiment.codec = codec;
    experiment.merge = "every:rounds=4";
    SimulatedRun run(read_plan(experiment), 1);
    run.to_end();
    Vector all;
    for (const auto model : models_of(run)) all.insert(all.end(), model.begin(), model.end());
    return all;
  };
  const auto gap = [](const Vector& a, const Vector& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(sum / static_cast<double>(a.size()));
  };
  const Vector exact = models_after("jwins:budget=0.3", "gamma+f32"),
               whole = models_after("jwins:budget=0.3", "gamma+q4"),
               changes = models_after("jwins:budget=0.3,relative=yes", "gamma+q4");
  EXPECT_LT(2 * gap(changes, exact), gap(whole, exact));
}

TEST(Merge, RefusalsSayWhatToChange) {
  const auto refusal = [](auto change) -> std::string {
    Experiment experiment = toy();
    change(experiment);
    try {
      (void)read_plan(experiment);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "(accepted)";
  };
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "and"; }),
            "there is no merge 'and'. Did you mean 'end'?");
  EXPECT_EQ(refusal([](Experiment& e) {
              e.merge = "every:rounds=5", e.protocol = "divshare:fanout=2,until=5s";
            }),
            "merge=every:rounds=5: nodes of protocol=divshare:fanout=2,until=5s have no rounds in "
            "common: use merge=every:time=60s or merge=end");
  EXPECT_EQ(
      refusal([](Experiment& e) { e.merge = "every:time=5s", e.protocol = "dpsgd:rounds=9"; }),
      "merge=every:time=5s: nodes of protocol=dpsgd:rounds=9 wait for one another in rounds, "
      "and one would merge while another waits for it: use merge=every:rounds=100");
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "end", e.nodes = "1", e.topology = "full"; }),
            "merge=end: one node has nobody to average with: leave merge out, or say nodes=2");
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "every", e.sharing = "choco"; }),
            "sharing=choco keeps copies of its neighbours, which a merge between rounds would "
            "falsify: use merge=end");
  EXPECT_EQ(refusal([](Experiment& e) {
              e.merge = "every:time=5s", e.protocol = "swift:until=9s";
              e.sharing = "jwins:relative=yes";
            }),
            "sharing=jwins:relative=yes tells what has changed since all averaged last, and with "
            "merge=every:time=5s some are still told what changed before: use merge=end, or leave "
            "relative=yes out");
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "end", e.faults = "hostile=1,attack=alie"; }),
            "merge=end is a plain mean of all models, which one hostile node can lead anywhere: "
            "leave out the merge or the hostile nodes");
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "end:rounds=5"; }),
            "end: there is no option 'rounds'. Known: patience, codec, peers.");
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "end:last=gamma+f16"; }),
            "merge=end:last=gamma+f16: there is one merge, and it is the last: name its codec by "
            "codec=gamma+f16");
  EXPECT_EQ(refusal([](Experiment& e) { e.merge = "none"; }), "(accepted)");
}

}  // namespace
}  // namespace tessera
