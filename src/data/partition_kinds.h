// What the table of partitions is made of: one function per entry, and what they share.
#pragma once

#include "data/partition.h"

namespace tessera {

Deal read_iid(Options& options);
Deal read_shards(Options& options);
Deal read_dirichlet(Options& options);
Deal read_users(Options& options);
Deal read_consecutive(Options& options);
Deal read_file_split(Options& options);
Deal read_local(Options& options);

// Throws unless the targets are classes.
void require_classes(const LoadedData& data, std::string_view partition);

// The logarithm of a draw from the gamma distribution of scale 1. For shapes near zero the draw
// itself would be zero in floating point.
double log_gamma_draw(double shape, Random& random);

}  // namespace tessera
