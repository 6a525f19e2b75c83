// A Codec is a pair, written "gamma+planes": how indices travel, and how values do. Either half may
// be "auto", and "auto" alone is both: whichever row is smallest for the message at hand, among the
// lossless ones for values. Choosing indices costs a pass over them and their range code; choosing
// values encodes them with every lossless row, fpzip included, which is the price of being sure.
#pragma once

#include <string>
#include <string_view>

#include "codec/index_codec.h"
#include "codec/value_codec.h"

namespace tessera {

struct Codec {
  const IndexCodec* indices = nullptr;  // Null: the smallest.
  const ValueCodec* values = nullptr;   // Null: the smallest that is lossless.
};

// Throws std::invalid_argument with the nearest known name.
Codec parse_codec(std::string_view text);
std::string to_string(const Codec& codec);  // parse_codec's inverse.

// Append the payload and say which row wrote it.
const IndexCodec& encode_indices(const Codec& codec, const IndexSet& set, Bytes& out);
const ValueCodec& encode_values(const Codec& codec, std::span<const float> values,
                                const Random& rounding, Bytes& out);

}  // namespace tessera
