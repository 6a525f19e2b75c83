// How the values of a share travel. Every codec is a row of one table, and being listed is what
// earns a row its name in `codec=`, its conformance tests and its benchmark. A lossless row gives
// back every bit of every pattern: NaN payloads, minus zero and denormals too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

struct ValueCodec {
  std::uint8_t wire_id = 0;  // Never zero, never reused: a message names its codec by it.
  std::string_view name{};
  std::string_view summary{};
  bool lossless = false;
  // No value moves by more than this part of the largest magnitude among the 64 around it.
  double error_max = 0.01;
  // No `count` values take more bytes than this.
  std::size_t (*bound)(std::size_t count) = nullptr;
  // No payload of so many bytes holds more values than this; what a receiver checks a claimed count
  // against before it allocates.
  std::uint64_t (*values_max)(std::size_t bytes) = nullptr;
  // Appends the payload. Codecs that round at random draw from a fork of `rounding`.
  void (*encode)(std::span<const float> values, const Random& rounding, Bytes& out) = nullptr;
  // Fills `values`, whose size is the count the message claims, or refuses the payload with
  // "truncated", "trailing" or "values". What `values` holds after a refusal is unspecified.
  Result<void> (*decode)(ByteSpan payload, std::span<float> values) = nullptr;
};

std::span<const ValueCodec> value_codecs();
const ValueCodec* find_value_codec(std::uint8_t wire_id);  // nullptr when there is none.

// For payloads whose length follows from the count: refuses any other.
Result<void> expect_bytes(ByteSpan payload, std::size_t expected);

}  // namespace tessera
