// The partitions `users` and `consecutive`: people stay whole.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "data/partition_kinds.h"

namespace tessera {
namespace {

// The users that have training samples, in the order of their ids.
std::vector<std::uint32_t> users_of(const LoadedData& data, const Options& options,
                                    std::uint32_t nodes) {
  if (data.train_users.empty())
    throw std::invalid_argument(
        fmt::format("{}: the samples of {} belong to no users; use iid, shards or dirichlet",
                    options.name(), data.name));
  std::vector<std::uint32_t> users = data.train_users;
  std::sort(users.begin(), users.end());
  users.erase(std::unique(users.begin(), users.end()), users.end());
  if (nodes > users.size())
    throw std::invalid_argument(
        fmt::format("{}: {} nodes cannot share the {} users of {}; use at "
                    "most {} nodes",
                    options.name(), nodes, users.size(), data.name, users.size()));
  return users;
}

// Whether nodes are tested on their own users only. For ratings that is the only sensible way: a
// node never trains the rows of other nodes' users.
bool test_own(const LoadedData& data, Options& options) {
  constexpr std::array<std::string_view, 2> kWords = {"own", "all"};
  const bool ratings = data.task.kind == Task::Kind::kRatings;
  return options.choice("test", kWords, ratings ? "own" : "all") == "own";
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
                  bool own_test) {
  Partition partition{.train = samples_of(node_of, nodes, data.train_users)};
  if (!own_test) return partition;
  partition.test = samples_of(node_of, nodes, data.test_users);
  for (std::uint32_t node = 0; node < nodes; ++node)
    if (partition.test[node].empty())
      throw std::invalid_argument(
          fmt::format("the users of node {} have no test samples; use test=all, fewer nodes or a "
                      "larger test_limit",
                      node));
  return partition;
}

}  // namespace

Partition deal_users(const LoadedData& data, std::uint32_t nodes, Options& options,
                     const Random& random) {
  const bool own_test = test_own(data, options);
  options.done();
  std::vector<std::uint32_t> users = users_of(data, options, nodes);
  Random(random).shuffle(std::span(users));
  NodeOfUser node_of;
  for (std::uint32_t i = 0; i < users.size(); ++i) node_of[users[i]] = i % nodes;
  return deal_by(node_of, data, nodes, own_test);
}

// U users and n nodes: the first U mod n nodes hold one user more than the others. Nothing is
// drawn.
Partition deal_consecutive(const LoadedData& data, std::uint32_t nodes, Options& options,
                           const Random&) {
  const bool own_test = test_own(data, options);
  options.done();
  const std::vector<std::uint32_t> users = users_of(data, options, nodes);
  const auto each = static_cast<std::uint32_t>(users.size()) / nodes;
  const auto more = static_cast<std::uint32_t>(users.size()) % nodes;
  NodeOfUser node_of;
  std::uint32_t next = 0;
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::uint32_t i = 0; i < each + (node < more ? 1 : 0); ++i) node_of[users[next++]] = node;
  return deal_by(node_of, data, nodes, own_test);
}

}  // namespace tessera
