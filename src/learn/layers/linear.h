// A linear layer, y = W x + b, with W as PyTorch stores it: [outputs][inputs]. Images and sequences
// that come in are flattened as PyTorch does it, channels or steps first.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct Linear {
  std::uint32_t inputs = 0, outputs = 0;
};

// NAME.weight and NAME.bias, both uniform in +-1/sqrt(inputs).
Linear add_linear(ModelBuilder& builder, std::string_view name, std::uint32_t outputs);
std::unique_ptr<CpuLayer> make_cpu(const Linear& linear, const CpuPlace& place);

}  // namespace tessera
