// LSTM levels one above the other over a sequence; what goes out is the last level's state at every
// step. One level is lstm_level.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace tessera {

class CpuLayer;
struct CpuPlace;
class ModelBuilder;

struct Lstm {
  std::uint32_t units = 0, levels = 0;
  std::uint32_t inputs = 0;  // Of the first level, as the sequence has them.
};

// Per level l: NAME.weight_ih_l [4 units, inputs], weight_hh_l [4 units, units], bias_ih_l and
// bias_hh_l [4 units], all uniform in +-1/sqrt(units).
Lstm add_lstm(ModelBuilder& builder, std::string_view name, const Lstm& wanted);
std::unique_ptr<CpuLayer> make_cpu(const Lstm& lstm, const CpuPlace& place);

}  // namespace tessera
