// Messages: a Share, its Heading and who sent it, as bytes. docs/wire_format.md describes every one
// of them.
//
// What arrives was written by someone else. decode() believes no field before it has checked it,
// and allocates no more than the message's own length can stand for: each codec states how many
// values a byte of it may hold at most, and a count beyond that is refused first. A receiver that
// knows the dimension and the run to expect asks peek(), which looks at the header only, and does
// not bother with the rest of a message that is not for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"
#include "codec/codec.h"
#include "codec/heading.h"
#include "codec/share.h"

namespace tessera {

struct Envelope {
  std::uint64_t run = 0;  // Which experiment this belongs to; a node ignores those of others.
  NodeId sender = 0;
  bool operator==(const Envelope&) const = default;
};

struct Message {
  Envelope envelope{};
  Heading heading{};
  Share share{};
};

// A message on its way, and where its bytes go: the values, or all the rest that is needed to make
// sense of them.
struct Encoded {
  Bytes bytes{};
  std::size_t value_bytes = 0;
  std::size_t metadata_bytes() const { return bytes.size() - value_bytes; }
};

// What can be told without decoding. The fields are consistent with each other and with the length
// of the message, and what they ask to allocate is justified by it; nothing is said about the
// checksum or what is in the sections.
struct Header {
  Envelope envelope{};
  Heading heading{};
  std::uint32_t dimension = 0;
  std::uint32_t values = 0;                 // How many.
  std::size_t coordinates_kind = 0;         // Which alternative of Coordinates.
  const IndexCodec* index_codec = nullptr;  // Null unless the coordinates are Listed.
  const ValueCodec* value_codec = nullptr;
  std::size_t coordinate_bytes = 0;
  std::size_t value_bytes = 0;
};

inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kChecksumBytes = 8;

// `rounding` is what codecs that round at random draw from: a fork for this sender and round, so
// that a run repeats bit for bit and no two rounds round alike.
Encoded encode(const Heading& heading, const Share& share, const Codec& codec,
               const Envelope& envelope, const Random& rounding);

// Refuse with one of
//   "truncated" "trailing"               shorter or longer than the header says;
//   "magic" "version" "kind" "reserved"  not a message, or not one of this version;
//   "coordinates" "codec" "count"        a field that cannot be;
//   "checksum"                           damaged on the way (decode only);
//   "indices" "values" "header"          a section its codec refuses (decode only).
Result<Header> peek(ByteSpan message);
Result<Message> decode(ByteSpan message);

}  // namespace tessera
