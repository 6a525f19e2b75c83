// Data that lies at its nodes (partition=local): each node's samples are those of its own files,
// and nobody sees another's. A live node reads what is on its machine. A simulation plays them all:
// {node} in the line stands for a node's number, 0 for the first,
//
//   images:dir=fleet/{node},size=32,classes=cat/dog
//
// A node may have little, or nothing at all where the line itself says classes and shape.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "data/datasets.h"
#include "data/partition.h"

namespace tessera {

// Whether the line has {node} in it.
bool names_node(const Spec& spec);

// The data of `only`, or else of all nodes, one after the other, with LoadedData::train_nodes. A
// test half that the line names by a path without {node} is everybody's. Throws
// std::invalid_argument where several nodes would have the same files; an Error names the node
// whose data cannot be read, or fits the others' not.
Result<LoadedData> load_own_data(const Chosen<DatasetKind>& chosen, std::uint32_t nodes,
                                 std::optional<NodeId> only);

// What nodes must have in common to train one model, as people say it: classes in their order, the
// shape of a sample, and so on.
using Traits = std::vector<std::pair<std::string, std::string>>;
Traits traits_of(const LoadedData& data);

// For a process that is one node: forgets the samples that are others', and of the test half what
// it is not tested on; `test_samples` as LearningOptions has them.
void keep_own(LoadedData& data, Partition& partition, NodeId id, std::size_t test_samples);

}  // namespace tessera
