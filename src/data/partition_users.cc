// The partitions `users` and `consecutive`: people stay whole.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>

#include "data/partition_kinds.h"

namespace tessera {
namespace {

// The users that have training samples, in the order of their ids.
std::vector<std::uint32_t> users_of(const LoadedData& data, std::string_view partition,
                                    std::uint32_t nodes) {
  if (data.train_users.empty())
    throw std::invalid_argument(
        fmt::format("{}: the samples of {} belong to no users; use iid, shards or dirichlet",
                    partition, data.name));
  std::vector<std::uint32_t> users = data.train_users;
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  if (nodes > users.size())
    throw std::invalid_argument(
        fmt::format("{}: {} nodes cannot share the {} users of {}; use at "
                    "most {} nodes",
                    partition, nodes, users.size(), data.name, users.size()));
  return users;
}

// Whether nodes are tested on their own users only; as the data asks where the line does not say.
using TestOwn = std::optional<bool>;

TestOwn read_test(Options& options) {
  constexpr std::array<std::string_view, 2> kWords = {"own", "all"};
  if (!options.has("test")) return std::nullopt;
  return options.choice("test", kWords, "all") == "own";
}

// For ratings one's own is the only sensible way: a node never trains the rows of other nodes'
// users.
bool own_is_usual(const LoadedData& data) {
  return data.task.kind == Task::Kind::kRatings;
}

using NodeOfUser = std::map<std::uint32_t, std::uint32_t>;

std::vector<Indices> samples_of(const NodeOfUser& node_of, std::uint32_t nodes,
                                std::span<const std::uint32_t> users) {
  std::vector<Indices> own(nodes);
  for (std::uint32_t i = 0; i < users.size(); ++i)
    if (const auto found = node_of.find(users[i]); found != node_of.end())
      own[found->second].push_back(i);
  return own;
}

Partition deal_by(const NodeOfUser& node_of, const LoadedData& data, std::uint32_t nodes,
                  TestOwn own_test) {
  Partition partition{.train = samples_of(node_of, nodes, data.train_users)};
  if (!own_test.value_or(own_is_usual(data))) return partition;
  partition.test = samples_of(node_of, nodes, data.test_users);
  for (std::uint32_t node = 0; node < nodes; ++node)
    if (partition.test[node].empty())
      throw std::invalid_argument(
          fmt::format("the users of node {} have no test samples; use test=all, fewer nodes or a "
                      "larger test_limit",
                      node));
  return partition;
}

Partition deal_users(const LoadedData& data, std::uint32_t nodes, TestOwn own_test,
                     const Random& random) {
  std::vector<std::uint32_t> users = users_of(data, "users", nodes);
  Random(random).shuffle(std::span(users));
  NodeOfUser node_of;
  for (std::uint32_t i = 0; i < users.size(); ++i) node_of[users[i]] = i % nodes;
  return deal_by(node_of, data, nodes, own_test);
}

// U users and n nodes: the first U mod n nodes hold one user more than the others. Nothing is
// drawn.
Partition deal_consecutive(const LoadedData& data, std::uint32_t nodes, TestOwn own_test) {
  const std::vector<std::uint32_t> users = users_of(data, "consecutive", nodes);
  const auto each = static_cast<std::uint32_t>(users.size()) / nodes;
  const auto more = static_cast<std::uint32_t>(users.size()) % nodes;
  NodeOfUser node_of;
  std::uint32_t next = 0;
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::uint32_t i = 0; i < each + (node < more ? 1 : 0); ++i) node_of[users[next++]] = node;
  return deal_by(node_of, data, nodes, own_test);
}

}  // namespace

Deal read_users(Options& options) {
  return [own_test = read_test(options)](const LoadedData& data, std::uint32_t nodes,
                                         const Random& random) {
    return deal_users(data, nodes, own_test, random);
  };
}

Deal read_consecutive(Options& options) {
  return
      [own_test = read_test(options)](const LoadedData& data, std::uint32_t nodes, const Random&) {
        return deal_consecutive(data, nodes, own_test);
      };
}

}  // namespace tessera
