// A table of vectors: each of a sample's whole numbers below `rows` becomes the vector of that row.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct Embedding {
  std::uint32_t rows = 0, width = 0;
};

// NAME.weight [rows, width], normal.
Embedding add_embedding(ModelBuilder& builder, std::string_view name, const Embedding& wanted);
std::unique_ptr<CpuLayer> make_cpu(const Embedding& embedding, const CpuPlace& place);

}  // namespace tessera
