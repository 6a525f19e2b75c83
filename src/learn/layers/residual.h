// body(x) + shortcut(x), where an empty shortcut is x itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace tessera {

class CpuLayer;
struct CpuPlace;
struct Layer;
class ModelBuilder;

struct Residual {
  std::vector<Layer> body;
  std::vector<Layer> shortcut;
};

struct ResidualBlock {
  std::uint32_t outputs = 0, stride = 1, groups = 1;
};
// conv-norm-relu-conv-norm plus x, or plus conv1x1-norm of x where the shape changes.
Residual add_residual(ModelBuilder& builder, std::string_view name, const ResidualBlock& block);
std::unique_ptr<CpuLayer> make_cpu(const Residual& residual, const CpuPlace& place);

}  // namespace tessera
