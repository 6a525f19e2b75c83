#include "live/link/frame.h"

#include "live/link/agreement.h"

namespace tessera {
namespace {

enum Kind : std::uint8_t {  // On the wire: do not renumber.
  kHello = 1,
  kWelcome = 2,
  kReject = 3,
  kChunk = 4,
  kAck = 5,
  kHeartbeat = 6,
  kGoodbye = 7,
  kRest = 8,
};

struct HeadWriter {
  ByteWriter out;

  template <typename... T>
  void put(std::uint8_t kind, T... values) {
    out.put(kind);
    (out.put(values), ...);
  }
  void put_text(std::string_view text) {
    out.put(static_cast<std::uint16_t>(text.size()));
    out.put_bytes(bytes_of(text));
  }
  void operator()(const Hello& f) {
    put(kHello, kLinkMagic, f.version, f.run, f.dimension, f.session, f.oldest);
    put_text(f.agreement);
  }
  void operator()(const Welcome& f) { put(kWelcome, f.session, f.next, f.window); }
  void operator()(const Reject& f) {
    put(kReject, static_cast<std::uint8_t>(f.reason));
    if (f.reason == RejectReason::kAgreement) put_text(f.agreement);
  }
  void operator()(const Chunk& f) { put(kChunk, f.number, f.total, f.offset); }
  void operator()(const Ack& f) { put(kAck, f.session, f.received, f.released, f.at); }
  void operator()(const Heartbeat&) { put(kHeartbeat); }
  void operator()(const Goodbye&) { put(kGoodbye); }
  void operator()(const Rest&) { put(kRest); }
};

// An agreement of more than its maximum is not read, and the text that it has is left over.
std::string read_text(ByteReader& in, bool& oversized) {
  const auto length = in.get<std::uint16_t>();
  oversized = length > Agreement::kBytesMax;
  if (oversized) return {};
  const ByteSpan bytes = in.get_bytes(length);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Frame> oversized_text() {
  return Error{"oversized",
               fmt::format("an agreement of more than {} bytes", Agreement::kBytesMax)};
}

// The fields are read in the order they are named in, whatever they hold; the caller asks the
// reader afterwards whether they were there.
Result<Frame> read_hello(ByteReader& in) {
  Hello hello;
  hello.version = in.get<std::uint16_t>();
  if (hello.version != kLinkVersion) {
    (void)in.get_bytes(in.left());
    return Frame(hello);
  }
  hello.run = in.get<std::uint64_t>();
  hello.dimension = in.get<std::uint64_t>();
  hello.session = in.get<std::uint64_t>();
  hello.oldest = in.get<std::uint64_t>();
  bool oversized = false;
  hello.agreement = read_text(in, oversized);
  if (oversized) return oversized_text();
  return Frame(std::move(hello));
}

Result<Frame> read_reject(ByteReader& in) {
  const auto reason = in.get<std::uint8_t>();
  if (!in.ran_short() && (reason < 1 || reason > 5))
    return Error{"reason", fmt::format("a rejection for reason {}, which is none", reason)};
  Reject reject{.reason = static_cast<RejectReason>(reason)};
  bool oversized = false;
  if (reject.reason == RejectReason::kAgreement) reject.agreement = read_text(in, oversized);
  if (oversized) return oversized_text();
  return Frame(std::move(reject));
}

Frame read_welcome(ByteReader& in) {
  Welcome welcome;
  welcome.session = in.get<std::uint64_t>();
  welcome.next = in.get<std::uint64_t>();
  welcome.window = in.get<std::uint64_t>();
  return welcome;
}

Frame read_chunk(ByteReader& in) {
  Chunk chunk;
  chunk.number = in.get<std::uint64_t>();
  chunk.total = in.get<std::uint64_t>();
  chunk.offset = in.get<std::uint64_t>();
  chunk.payload = in.get_bytes(in.left());
  return chunk;
}

Frame read_ack(ByteReader& in) {
  Ack ack;
  ack.session = in.get<std::uint64_t>();
  ack.received = in.get<std::uint64_t>();
  ack.released = in.get<std::uint64_t>();
  ack.at = in.get<std::uint64_t>();
  return ack;
}

Result<Frame> read_body(std::uint8_t kind, ByteReader& in) {
  switch (kind) {
    case kHello:
      if (in.get<std::uint32_t>() != kLinkMagic && !in.ran_short())
        return Error{"magic", "a hello that is not tessera's"};
      return read_hello(in);
    case kWelcome:
      return read_welcome(in);
    case kReject:
      return read_reject(in);
    case kChunk:
      if (in.left() > 3 * sizeof(std::uint64_t) + kChunkBytesMax)
        return Error{"oversized", fmt::format("a chunk of {} bytes", in.left())};
      return read_chunk(in);
    case kAck:
      return read_ack(in);
    case kHeartbeat:
      return Frame(Heartbeat{});
    case kGoodbye:
      return Frame(Goodbye{});
    case kRest:
      return Frame(Rest{});
    default:
      return Error{"kind", fmt::format("there is no frame of kind {}", kind)};
  }
}

}  // namespace

std::string_view to_string(RejectReason reason) {
  switch (reason) {
    case RejectReason::kVersion:
      return "version";
    case RejectReason::kRun:
      return "run";
    case RejectReason::kDimension:
      return "dimension";
    case RejectReason::kTwin:
      return "twin";
    case RejectReason::kAgreement:
      return "agreement";
  }
  return "unknown";
}

Bytes encode_head(const Frame& frame) {
  Bytes bytes;
  bytes.reserve(40);
  std::visit(HeadWriter{ByteWriter(bytes)}, frame);
  return bytes;
}

Bytes encode(const Frame& frame) {
  Bytes bytes = encode_head(frame);
  if (const Chunk* chunk = std::get_if<Chunk>(&frame)) ByteWriter(bytes).put_bytes(chunk->payload);
  return bytes;
}

Result<Frame> decode_frame(ByteSpan bytes) {
  if (bytes.empty()) return Error{"truncated", "an empty frame"};
  ByteReader in(bytes);
  const auto kind = in.get<std::uint8_t>();
  Result<Frame> frame = read_body(kind, in);
  if (!frame) return frame;
  if (in.ran_short())
    return Error{"truncated", fmt::format("{} bytes are too few for kind {}", bytes.size(), kind)};
  if (in.left() != 0)
    return Error{"trailing", fmt::format("{} bytes after a frame of kind {}", in.left(), kind)};
  return frame;
}

}  // namespace tessera
