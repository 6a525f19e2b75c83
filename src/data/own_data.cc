#include "data/own_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/check.h"
#include "base/hash.h"
#include "data/hold_out.h"
#include "data/views.h"

namespace tessera {
namespace {

constexpr std::string_view kPlace = "{node}";
constexpr std::size_t kNamesMax = 400;  // Characters of class names that are told.

Spec for_node(Spec spec, NodeId node) {
  for (auto& [key, value] : spec.options)
    for (std::size_t at = 0; (at = value.find(kPlace, at)) != std::string::npos;)
      value.replace(at, kPlace.size(), std::to_string(node));
  return spec;
}

// A path to test samples is no fraction, and where it has no {node} it is the same for all.
bool test_is_shared(const Spec& spec) {
  for (const auto& [key, value] : spec.options)
    if (key == "test") return value.find(kPlace) == std::string::npos && !is_fraction(value);
  return false;
}

std::string show_shape(const Task& task) {
  return fmt::format("{}", fmt::join(task.shape, "x"));
}

std::string show_classes(const LoadedData& data) {
  if (data.task.classes == 0) return "none: the targets are numbers";
  if (data.class_names.empty()) return fmt::format("{} without names", data.task.classes);
  std::string names = fmt::format("{}", fmt::join(data.class_names, "/"));
  if (names.size() <= kNamesMax) return names;
  const std::uint64_t digest = hash_bytes(bytes_of(names));
  return fmt::format("{}... ({} in all, digest {:016x})", names.substr(0, kNamesMax),
                     data.task.classes, digest);
}

Result<void> require_same(const Traits& first, const LoadedData& data, NodeId node) {
  const Traits own = traits_of(data);
  for (std::size_t i = 0; i < first.size(); ++i)
    if (own[i] != first[i])
      return Error{"data", fmt::format("{} of node 0: {}; of node {}: {}. All nodes need the same; "
                                       "say them in the line (classes=, size=)",
                                       first[i].first, first[i].second, node, own[i].second)};
  return {};
}

// Several nodes' halves, gathered.
struct Gathered {
  std::vector<std::shared_ptr<const Dataset>> parts{};
  std::vector<std::uint32_t> nodes{};

  void add(std::shared_ptr<const Dataset> half, NodeId node) {
    nodes.insert(nodes.end(), half->size(), node);
    parts.push_back(std::move(half));
  }
  std::shared_ptr<const Dataset> joined() {
    if (parts.size() == 1) return parts.front();
    return std::make_shared<Joined>(std::move(parts));
  }
};

Indices all_of(std::size_t count) {
  Indices all(count);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

// A copy of these samples, where the set can make one that is smaller.
void keep(std::shared_ptr<const Dataset>& half, Indices& samples) {
  std::shared_ptr<const Dataset> own = half->copy_of(samples);
  if (!own) return;
  half = std::move(own);
  samples = all_of(samples.size());
}

}  // namespace

bool names_node(const Spec& spec) {
  return std::any_of(spec.options.begin(), spec.options.end(), [](const auto& option) {
    return option.second.find(kPlace) != std::string::npos;
  });
}

Result<LoadedData> load_own_data(const Chosen<DatasetKind>& chosen, std::uint32_t nodes,
                                 std::optional<NodeId> only) {
  if (!only && nodes > 1 && !names_node(chosen.spec))
    throw std::invalid_argument(fmt::format(
        "partition=local: data={} is the same for all {} nodes; write {{node}} where a node's "
        "number belongs, such as dir=fleet/{{node}}",
        to_string(chosen.spec), nodes));
  const bool shared_test = test_is_shared(chosen.spec);
  LoadedData all;
  Gathered train, test;
  const NodeId first = only.value_or(0), end = only ? *only + 1 : nodes;
  for (NodeId node = first; node < end; ++node) {
    Result<LoadedData> own = load_dataset({chosen.kind, for_node(chosen.spec, node)});
    if (!own) return Error{own.error().kind, fmt::format("node {}: {}", node, own.error().message)};
    if (node > first)
      if (const Result<void> same = require_same(traits_of(all), *own, node); !same)
        return same.error();
    train.add(std::move(own->train), node);
    if (!shared_test || node == first) test.add(std::move(own->test), node);
    if (node == first)
      all = {.name = own->name, .task = own->task, .class_names = own->class_names};
  }
  all.train = train.joined();
  all.test = test.joined();
  all.train_nodes = std::move(train.nodes);
  all.test_nodes = std::move(test.nodes);
  all.own_test = !shared_test;
  return all;
}

Traits traits_of(const LoadedData& data) {
  Traits traits{{"classes", show_classes(data)}, {"shape of a sample", show_shape(data.task)}};
  if (data.task.kind == Task::Kind::kTokens)
    traits.emplace_back("vocabulary", std::to_string(data.task.vocabulary));
  if (data.task.kind == Task::Kind::kRatings)
    traits.emplace_back("users and items",
                        fmt::format("{} and {}", data.task.users, data.task.items));
  return traits;
}

void keep_own(LoadedData& data, Partition& partition, NodeId id, std::size_t test_samples) {
  CHECK(id < partition.train.size());
  data.loaded = {data.train->size(), data.test->size()};
  for (std::vector<Indices>* half : {&partition.train, &partition.test})
    for (NodeId other = 0; other < half->size(); ++other)
      if (other != id) (*half)[other] = {};
  keep(data.train, partition.train[id]);
  if (!partition.test.empty()) {
    keep(data.test, partition.test[id]);
  } else if (test_samples > 0 && test_samples < data.test->size()) {
    Indices tested = spread(data.test->size(), test_samples);
    keep(data.test, tested);
  }
  for (auto* whose : {&data.train_users, &data.test_users, &data.train_nodes, &data.test_nodes})
    *whose = {};
}

}  // namespace tessera
