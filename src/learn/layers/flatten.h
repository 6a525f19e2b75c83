// Images or sequences to rows, as PyTorch flattens them: [batch][channels][pixels] and
// [batch][steps][width]. No layer of a model: what stands before a linear one on the CPU.
#pragma once

#include <memory>

namespace tessera {

class CpuLayer;
struct CpuPlace;

// `place` is the linear layer's.
std::unique_ptr<CpuLayer> make_flatten(const CpuPlace& place);

}  // namespace tessera
