// How uneven a partition is, for people: what each node holds of each class, and one number for all
// of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/partition.h"

namespace tessera {

// counts[node][class], for data whose targets are classes.
using ClassCounts = std::vector<std::vector<std::uint32_t>>;
ClassCounts class_counts(const LoadedData& data, const Partition& partition);

// The mean over nodes of the total variation distance between a node's mix of classes and the mix
// of all nodes together: 0 when every node has the same mix, near 1 when each has a class of its
// own among many.
double skew(const ClassCounts& counts);

// A few nodes and classes: a row of numbers per node. Many: a row per class and a character per
// node. Then a line or two of summary. Ratings have no classes; then it is the number of samples
// and users.
std::string show_partition(const LoadedData& data, const Partition& partition);

}  // namespace tessera
