#include "codec/value_codec.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "codec/fpzip_encoder.h"
#include "codec/grid.h"
#include "codec/half.h"
#include "codec/int8.h"
#include "codec/planes.h"
#include "codec/quantized.h"

namespace tessera {
namespace {

std::size_t f32_bound(std::size_t count) {
  return count * sizeof(float);
}

std::uint64_t f32_values_max(std::size_t bytes) {
  return bytes / sizeof(float);
}

void encode_f32(std::span<const float> values, const Random&, Bytes& out) {
  ByteWriter(out).put_bytes(bytes_of(values));
}

Result<void> decode_f32(ByteSpan payload, std::span<float> values) {
  if (auto whole = expect_bytes(payload, values.size_bytes()); !whole) return whole;
  if (!values.empty()) std::memcpy(values.data(), payload.data(), payload.size());
  return {};
}

template <unsigned kBits>
void encode_bits(std::span<const float> values, const Random& rounding, Bytes& out) {
  encode_quantized(values, quantized_levels(kBits), rounding, out);
}

template <unsigned kBits>
Result<void> decode_bits(ByteSpan payload, std::span<float> values) {
  return decode_quantized(payload, quantized_levels(kBits), values);
}

// A value moves by less than a level, and a scale is rounded up by an eighth at most.
template <unsigned kBits>
constexpr ValueCodec quantized(std::uint8_t wire_id, std::string_view name,
                               std::string_view summary) {
  return {.wire_id = wire_id,
          .name = name,
          .summary = summary,
          .lossless = false,
          .error_max = 1.125 / quantized_levels(kBits),
          .bound = quantized_bound,
          .values_max = quantized_values_max,
          .encode = encode_bits<kBits>,
          .decode = decode_bits<kBits>};
}

// Wire ids are in messages and files: append, never renumber.
constexpr std::array kValueCodecs{
    ValueCodec{.wire_id = 1,
               .name = "f32",
               .summary = "four bytes per value, as they are",
               .lossless = true,
               .bound = f32_bound,
               .values_max = f32_values_max,
               .encode = encode_f32,
               .decode = decode_f32},
    ValueCodec{.wire_id = 2,
               .name = "fpzip",
               .summary = "fpzip, lossless: what JWINS uses; slow, made for smooth data",
               .lossless = true,
               .bound = fpzip_bound,
               .values_max = fpzip_values_max,
               .encode = encode_fpzip,
               .decode = decode_fpzip},
    ValueCodec{.wire_id = 3,
               .name = "planes",
               .summary = "byte planes, those that pay compressed by zstd; lossless and fast",
               .lossless = true,
               .bound = planes_bound,
               .values_max = planes_values_max,
               .encode = encode_planes,
               .decode = decode_planes},
    ValueCodec{.wire_id = 4,
               .name = "f16",
               .summary = "IEEE half precision, 11 bits; 65,520 and beyond become infinite",
               .lossless = false,
               .bound = half_bound,
               .values_max = half_values_max,
               .encode = encode_f16,
               .decode = decode_f16},
    ValueCodec{.wire_id = 5,
               .name = "bf16",
               .summary = "bfloat16, 8 bits and the range of f32; above 3.39e38 becomes infinite",
               .lossless = false,
               .bound = half_bound,
               .values_max = half_values_max,
               .encode = encode_bf16,
               .decode = decode_bf16},
    ValueCodec{.wire_id = 6,
               .name = "int8",
               .summary = "8 bits, one scale per 64 values, rounded at random without bias; "
                          "what is not finite becomes NaN",
               .lossless = false,
               .bound = int8_bound,
               .values_max = int8_values_max,
               .encode = encode_int8,
               .decode = decode_int8},
    ValueCodec{.wire_id = 7,
               .name = "grid",
               .summary = "multiples of a power of two in a range code, other values as they are; "
                          "lossless, for sharings that quantize",
               .lossless = true,
               .bound = grid_bound,
               .values_max = grid_values_max,
               .encode = encode_grid,
               .decode = decode_grid},
    quantized<2>(8, "q2", "3 levels, one scale per 64 values, rounded at random; range-coded"),
    quantized<3>(9, "q3", "7 levels, likewise"),
    quantized<4>(10, "q4", "15 levels, likewise"),
    quantized<5>(11, "q5", "31 levels, likewise"),
    quantized<6>(12, "q6", "63 levels, likewise"),
    quantized<7>(13, "q7", "127 levels, likewise"),
    quantized<8>(14, "q8", "255 levels, likewise: int8's precision in fewer bytes"),
};

}  // namespace

std::span<const ValueCodec> value_codecs() {
  return kValueCodecs;
}

const ValueCodec* find_value_codec(std::uint8_t wire_id) {
  for (const ValueCodec& codec : kValueCodecs)
    if (codec.wire_id == wire_id) return &codec;
  return nullptr;
}

Result<void> expect_bytes(ByteSpan payload, std::size_t expected) {
  if (payload.size() == expected) return {};
  return Error{payload.size() < expected ? "truncated" : "trailing",
               fmt::format("these values take {} bytes, not {}", expected, payload.size())};
}

}  // namespace tessera
