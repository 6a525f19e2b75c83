// Shares a protocol has not used yet, in and out of a checkpoint: as the wire has them, with codecs
// that keep every bit.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "codec/wire.h"

namespace tessera {

inline void save_share(NodeId from, const Share& share, Bytes& out) {
  static const Codec exact = parse_codec("raw32+f32");
  const Encoded encoded = encode(share, exact, {.sender = from}, Random(0));
  ByteWriter writer(out);
  writer.put<std::uint64_t>(encoded.bytes.size());
  writer.put_bytes(encoded.bytes);
}

// The envelope's sender is who the share is from.
inline Result<Message> load_share(ByteReader& in) {
  const ByteSpan bytes = in.get_bytes(in.get<std::uint64_t>());
  if (in.ran_short()) return Error{"checkpoint", "a saved protocol is cut short"};
  return decode(bytes);
}

}  // namespace tessera
