// Each channel of an image becomes its mean.
#pragma once

#include <memory>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct MeanPool {};

MeanPool add_mean_pool(ModelBuilder& builder);
std::unique_ptr<CpuLayer> make_cpu(const MeanPool& pool, const CpuPlace& place);

}  // namespace tessera
