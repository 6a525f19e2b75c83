// ReLU, y = max(0, x), where no other layer does it on the way (see cpu_chain.h).
#pragma once

#include <memory>

namespace tessera {

class CpuLayer;
struct CpuPlace;

struct Relu {};

std::unique_ptr<CpuLayer> make_cpu(const Relu& relu, const CpuPlace& place);

}  // namespace tessera
