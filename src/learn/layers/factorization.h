// Matrix factorization: a sample is a user and an item, and its rating the dot product of their
// rows.
//
//   y = sum over k of P[user, k] Q[item, k]
#pragma once

#include <cstdint>
#include <memory>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct Factorization {
  std::uint32_t users = 0, items = 0, width = 0;
};

// user_factors.weight [users, width] and item_factors.weight [items, width], uniform in +-0.05.
Factorization add_factorization(ModelBuilder& builder, const Factorization& wanted);
std::unique_ptr<CpuLayer> make_cpu(const Factorization& factors, const CpuPlace& place);

}  // namespace tessera
