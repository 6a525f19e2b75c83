// Group norm: the channels of a sample are normalized in `groups` groups over all their pixels.
//
//   y = gamma (x - mean) r + beta        r = 1 / sqrt(variance + 1e-5), per sample and group
//   dx = r gamma dy - r mean(gamma dy) - r xhat mean(gamma dy xhat),   xhat = (x - mean) r
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct GroupNorm {
  std::uint32_t channels = 0, groups = 0;
};

// NAME.weight (gamma), one at first, and NAME.bias (beta), zero.
GroupNorm add_group_norm(ModelBuilder& builder, std::string_view name, std::uint32_t groups);
std::unique_ptr<CpuLayer> make_cpu(const GroupNorm& norm, const CpuPlace& place);

}  // namespace tessera
