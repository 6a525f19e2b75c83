// A convolution with an odd square kernel, zero padding kernel/2 and a stride.
//
//   out[o, y, x] = b[o] + sum over i, ky, kx of
//                  w[o, i, ky, kx] in[i, y stride + ky - pad, x stride + kx - pad]
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct Convolution {
  std::uint32_t outputs = 0, kernel = 0, stride = 1;
  std::uint32_t inputs = 0;  // As the image has them: add_convolution() fills them in.
};

// NAME.weight [outputs, inputs, kernel, kernel] and NAME.bias, both uniform in +-1/sqrt(fan in).
Convolution add_convolution(ModelBuilder& builder, std::string_view name,
                            const Convolution& wanted);
std::unique_ptr<CpuLayer> make_cpu(const Convolution& convolution, const CpuPlace& place);

}  // namespace tessera
