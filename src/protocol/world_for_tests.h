// Small worlds for protocols' own tests: one that writes down what a node does, and one in which a
// few nodes train in step and messages take no time.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/word_counts.h"
#include "node/node.h"
#include "protocol/protocols.h"
#include "run/plan.h"

namespace tessera {

// A world that writes down what a node does.
struct Notebook final : Env {
  Instant now() const override { return time; }
  void send(NodeId to, Payload payload) override { sent.emplace_back(to, payload); }
  void drop_unsent() override { ++drops; }
  void wake_after(Duration delay) override { wakes.push_back(time + delay); }
  void train(const Vector& model, Random) override {
    training = model;
    ++trainings;
  }

  Message last_message() const { return decode(sent.back().second.letter->bytes()).value(); }

  Instant time{};
  std::vector<std::pair<NodeId, Payload>> sent;
  std::vector<Instant> wakes;
  Vector training;
  int trainings = 0, drops = 0;
};

struct OneNodeOptions {
  NodeId id = 1;
  std::uint32_t nodes = 3;
  std::string topology = "line";
  std::string protocol = "dpsgd:rounds=2";
  std::string sharing = "full";
  std::string codec = "raw32+f32";
};

// One node of a world, two parameters, messages as bytes.
struct OneNode {
  explicit OneNode(OneNodeOptions how = {})
      : id(how.id),
        plan(read_plan({.nodes = std::to_string(how.nodes),
                        .model = "quadratic:dimension=2",
                        .topology = how.topology,
                        .protocol = how.protocol,
                        .sharing = how.sharing,
                        .codec = how.codec})),
        node(make()) {}

  Node make() const { return std::move(*make_node(plan, id, {0, 0}, {})); }

  void starts() { node.handle(Started{}, world); }
  void trains_to(Vector model) { node.handle(Trained{std::move(model), 0}, world); }
  // Time passes, and the node is woken if it asked for it by now.
  void waits_until(Duration since_start) {
    world.time = Instant(since_start);
    const std::size_t due =
        std::erase_if(world.wakes, [&](Instant at) { return at <= world.time; });
    for (std::size_t i = 0; i < due; ++i) node.handle(Woke{}, world);
  }
  void hears(NodeId from, Round round, Vector values) {
    hears(from, {.round = round, .degree = 1, .age = round}, std::move(values));
  }
  void hears(NodeId from, const Heading& heading, Vector values) {
    const auto dimension = static_cast<std::uint32_t>(values.size());
    hears(from, heading, Share{.dimension = dimension, .values = std::move(values)});
  }
  void hears(NodeId from, const Heading& heading, const Share& share) {
    hears_of_run(plan.run(), from, heading, share);
  }
  void hears_of_run(std::uint64_t run, NodeId from, const Heading& heading, const Share& share) {
    const Encoded encoded =
        encode(heading, share, plan.codec, {.run = run, .sender = from}, Random(0));
    node.handle(Arrived{from, {std::make_shared<const Letter>(encoded.bytes), encoded.value_bytes}},
                world);
  }
  // A crash: all that is left is what a checkpoint held.
  void restarts() {
    Bytes saved;
    save_fields(node, saved);
    node = make();
    ByteReader in(saved);
    CHECK(load_fields(node, in).ok());
    CHECK(in.left() == 0);
    const Instant time = world.time;
    world = Notebook();
    world.time = time;
    starts();
  }
  static std::uint64_t count(const WordCounts& counts, std::string_view word) {
    const auto found = counts.find(word);
    return found == counts.end() ? 0 : found->second;
  }
  std::uint64_t refused(std::string_view reason) const { return count(node.refusals(), reason); }
  std::uint64_t refused_of(NodeId from, std::string_view reason) const {
    const auto found = node.refusals_by_sender().find(reason);
    if (found == node.refusals_by_sender().end() || found->second.count(from) == 0) return 0;
    return found->second.at(from);
  }
  std::uint64_t noted(std::string_view what) const { return count(node.notes(), what); }

  NodeId id;
  Plan plan;
  Notebook world{};
  Node node;
};

// Nodes that train in a second each, all at once, a step towards a target of their own. Messages
// take no time; those of an instant arrive before anyone is woken in it.
struct LockStep {
  LockStep(std::uint32_t nodes, std::size_t dimension, const std::string& sharing,
           const MakeProtocol& make_protocol, const std::vector<std::uint32_t>& samples = {})
      : worlds(nodes) {
    for (NodeId id = 0; id < nodes; ++id)
      members.push_back(std::make_unique<Node>(NodeParts{
          .id = id,
          .model = Vector(dimension, 0.0f),
          .sharing = make_sharing(sharing, {.dimension = static_cast<std::uint32_t>(dimension)}),
          .protocol = make_protocol(id),
          .codec = parse_codec("raw32+f32"),
          .random = Random(3).fork("node", id),
          .samples = samples.empty() ? 0 : samples[id]}));
    for (NodeId id = 0; id < nodes; ++id) members[id]->handle(Started{}, worlds[id]);
  }

  void step() {
    for (Notebook& world : worlds) world.time += std::chrono::seconds(1);
    for (NodeId id = 0; id < members.size(); ++id) {
      if (worlds[id].trainings == 0) continue;
      worlds[id].trainings = 0;
      Vector model = worlds[id].training;
      for (std::size_t k = 0; k < model.size(); ++k) model[k] += 0.1f * (target(id, k) - model[k]);
      members[id]->handle(Trained{std::move(model), 0}, worlds[id]);
    }
    while (deliver() || wake()) {
    }
  }

  static float target(NodeId id, std::size_t k) {
    return static_cast<float>((7 * id + 3 * k) % 11) - 5.0f;
  }

  bool deliver() {
    bool any = false;
    for (NodeId id = 0; id < members.size(); ++id) {
      for (auto& [to, payload] : std::exchange(worlds[id].sent, {})) {
        members[to]->handle(Arrived{id, payload}, worlds[to]);
        any = true;
      }
    }
    return any;
  }
  bool wake() {
    bool any = false;
    for (NodeId id = 0; id < members.size(); ++id) {
      Notebook& world = worlds[id];
      const std::size_t due =
          std::erase_if(world.wakes, [&](Instant at) { return at <= world.time; });
      for (std::size_t i = 0; i < due; ++i) members[id]->handle(Woke{}, world);
      any |= due > 0;
    }
    return any;
  }

  std::vector<Notebook> worlds;
  std::vector<std::unique_ptr<Node>> members{};
};

}  // namespace tessera
