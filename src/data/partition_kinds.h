// What the table of partitions is made of: one function per entry, and what they share.
#pragma once

#include "data/partition.h"

namespace tessera {

Partition deal_iid(const LoadedData& data, std::uint32_t nodes, Options& options,
                   const Random& random);
Partition deal_shards(const LoadedData& data, std::uint32_t nodes, Options& options,
                      const Random& random);
Partition deal_dirichlet(const LoadedData& data, std::uint32_t nodes, Options& options,
                         const Random& random);
Partition deal_users(const LoadedData& data, std::uint32_t nodes, Options& options,
                     const Random& random);
Partition deal_consecutive(const LoadedData& data, std::uint32_t nodes, Options& options,
                           const Random& random);

// Throws unless the targets are classes.
void require_classes(const LoadedData& data, const Options& options);

// The logarithm of a draw from the gamma distribution of scale 1. For shapes near zero the draw
// itself would be zero in floating point.
double log_gamma_draw(double shape, Random& random);

}  // namespace tessera
