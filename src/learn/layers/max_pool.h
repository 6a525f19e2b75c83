// 2x2 max pooling with stride 2; a last odd row or column is dropped. After a convolution it is
// done by the block (conv_block.h); this is the layer on its own.
#pragma once

#include <memory>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct MaxPool {};

MaxPool add_max_pool(ModelBuilder& builder);
std::unique_ptr<CpuLayer> make_cpu(const MaxPool& pool, const CpuPlace& place);

}  // namespace tessera
