// Frames from a member that may say anything: first alone, then in a conversation with a link that
// has already greeted it, so that what decodes is also acted upon.
#include "live/link/frame.h"

#include "live/link/link.h"

namespace tessera {
namespace {

void decode_alone(ByteSpan bytes) {
  const Result<Frame> frame = decode_frame(bytes);
  if (!frame) return;
  const auto* const hello = std::get_if<Hello>(&*frame);
  const bool read_in_part = hello && hello->version != kLinkVersion;
  if (!read_in_part) CHECK(encode(*frame) == Bytes(bytes.begin(), bytes.end()));
}

// The input is cut into frames by a length byte before each; an even length is a statement, an odd
// one an answer.
void converse(ByteSpan bytes) {
  TransportOptions options;
  options.message_bytes_max = 1000;
  options.held_bytes_extra = 1000;
  options.chunk_bytes_max = 1024;
  WordCounts refusals;
  Link link({1, "b", "b:1", ""}, options, 7, refusals);
  const auto message = std::make_shared<const Bytes>(3000);
  link.outbox().push(message);
  Instant now{};
  link.connect(now);
  link.on_frame(now, "r", encode(Hello{.session = 5}));
  ByteReader in(bytes);
  while (in.left() > 0) {
    now += std::chrono::milliseconds(50);
    const auto length = in.get<std::uint8_t>();
    const ByteSpan frame = in.get_bytes(std::min<std::size_t>(length, in.left()));
    if (length % 2 == 0)
      link.on_frame(now, "r", frame);
    else
      link.on_answer(now, frame);
    while (link.next_frame(now)) {
    }
    while (link.next_answer()) {
    }
    if (link.wants_hang_up(now)) link.disconnected(now, "fuzz");
    if (link.wants_connection(now)) link.connect(now);
    CHECK(link.state().in.held_bytes <= 2000);
    if (length % 3 == 0) link.take();
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const tessera::ByteSpan bytes = std::as_bytes(std::span(data, size));
  tessera::decode_alone(bytes);
  tessera::converse(bytes);
  return 0;
}
