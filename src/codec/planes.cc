#include "codec/planes.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>

#include "base/check.h"

namespace tessera {
namespace {

constexpr unsigned kPlanes = 4;
using Length = std::uint32_t;  // Of a frame, which is shorter than its plane.

template <typename Byte>
using PlanePointers = std::array<Byte*, kPlanes>;

// What a thread keeps from one message to the next: zstd's contexts, which take longer to make than
// a message to compress, and room for the planes on their way.
class Scratch {
 public:
  Scratch() {
    // Level 1 as it comes looks for repeats of six bytes, of which a plane of exponents has many
    // that save next to nothing. Told to look for seven, in few places, zstd finds long repeats
    // still and is otherwise a Huffman coder: twice as fast, and smaller on messages of 30,000
    // values. A window of 2^15 bytes bounds its blocks too, so that the code follows the scale of
    // the layers: 1.191 instead of 1.180 over all, where that scale changes every 20,000 values.
    set(ZSTD_c_compressionLevel, 1);
    set(ZSTD_c_minMatch, 7);
    set(ZSTD_c_hashLog, 6);
    set(ZSTD_c_windowLog, 15);
    set(ZSTD_c_contentSizeFlag, 0);  // The receiver knows how many values there are.
  }

  static Scratch& of_this_thread() {
    thread_local Scratch scratch;
    return scratch;
  }

  ZSTD_CCtx* compressor() { return compressor_.get(); }
  ZSTD_DCtx* decompressor() { return decompressor_.get(); }

  // Room for plane p of so many values; stays valid until asked for planes of another size.
  std::byte* plane(unsigned p, std::size_t count) {
    if (room_ < count) {
      planes_ = {};
      room_ = count;
    }
    // Not a vector: nobody reads what it would fill in.
    if (!planes_[p]) planes_[p].reset(new std::byte[room_]);
    return planes_[p].get();
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  void set(ZSTD_cParameter parameter, int value) {
    CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(compressor_.get(), parameter, value)));
  }

  std::unique_ptr<ZSTD_CCtx, Free> compressor_{ZSTD_createCCtx()};
  std::unique_ptr<ZSTD_DCtx, Free> decompressor_{ZSTD_createDCtx()};
  std::size_t room_ = 0;
  std::array<std::unique_ptr<std::byte[]>, kPlanes> planes_{};
};

inline std::uint32_t rotated(float value) {
  return std::rotl(std::bit_cast<std::uint32_t>(value), 1);
}

// Without __restrict the compiler must assume that a byte written is a float read, and vectorizes
// neither of these two loops.
void split(std::span<const float> values, const PlanePointers<std::byte>& planes) {
  const float* __restrict from = values.data();
  std::byte* __restrict p0 = planes[0];
  std::byte* __restrict p1 = planes[1];
  std::byte* __restrict p2 = planes[2];
  std::byte* __restrict p3 = planes[3];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits = rotated(from[i]);
    p0[i] = static_cast<std::byte>(bits);
    p1[i] = static_cast<std::byte>(bits >> 8);
    p2[i] = static_cast<std::byte>(bits >> 16);
    p3[i] = static_cast<std::byte>(bits >> 24);
  }
}

void merge(const PlanePointers<const std::byte>& planes, std::span<float> values) {
  float* __restrict to = values.data();
  const std::byte* __restrict p0 = planes[0];
  const std::byte* __restrict p1 = planes[1];
  const std::byte* __restrict p2 = planes[2];
  const std::byte* __restrict p3 = planes[3];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t bits =
        static_cast<std::uint32_t>(p0[i]) | static_cast<std::uint32_t>(p1[i]) << 8 |
        static_cast<std::uint32_t>(p2[i]) << 16 | static_cast<std::uint32_t>(p3[i]) << 24;
    to[i] = std::bit_cast<float>(std::rotr(bits, 1));
  }
}

// Which planes are worth zstd's time, as bits. In a sample of the values, the chance that two bytes
// of a plane are equal is 1/256 for noise; an excess of e/256 means about 0.72 e bits less than
// eight per byte. zstd itself gives up below 1.6%, an e of 0.17. This needs no logarithms, and
// unlike an entropy it is not fooled by the smallness of the sample. Planes that repeat themselves
// without any byte being more frequent than others are missed; weights have none.
unsigned promising_planes(std::span<const float> values) {
  constexpr std::size_t kSampleMax = 2048, kSampleMin = 64;
  constexpr double kExcess = 1.17;
  const std::size_t sample = std::min(values.size(), kSampleMax);
  if (sample < kSampleMin) return 0;
  std::array<std::array<std::uint32_t, 256>, kPlanes> seen{};
  for (std::size_t i = 0; i < sample; ++i) {
    const std::uint32_t bits = rotated(values[i * values.size() / sample]);
    for (unsigned p = 0; p < kPlanes; ++p) ++seen[p][bits >> (8 * p) & 255];
  }
  const double pairs = static_cast<double>(sample) * static_cast<double>(sample - 1);
  unsigned promising = 0;
  for (unsigned p = 0; p < kPlanes; ++p) {
    std::uint64_t equal = 0;
    for (const std::uint64_t count : seen[p]) equal += count * (count - 1);
    if (static_cast<double>(equal) * 256 > kExcess * pairs) promising |= 1u << p;
  }
  return promising;
}

// Appends length and frame of a plane unless that takes as much room as the plane itself.
bool append_frame(const std::byte* plane, std::size_t count, Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + count - 1);
  std::byte* const frame = out.data() + start + sizeof(Length);
  const std::size_t size = ZSTD_compress2(Scratch::of_this_thread().compressor(), frame,
                                          out.size() - start - sizeof(Length), plane, count);
  if (ZSTD_isError(size)) {
    out.resize(start);
    return false;
  }
  const auto length = static_cast<Length>(size);
  std::memcpy(out.data() + start, &length, sizeof length);
  out.resize(start + sizeof length + size);
  return true;
}

// Appends the payload with the planes in `packed` compressed. Returns those that would not shrink;
// when there are any, what was appended is of no use.
unsigned append_planes(std::span<const float> values, unsigned packed, Bytes& out) {
  const std::size_t count = values.size();
  const std::size_t raw_planes = kPlanes - static_cast<unsigned>(std::popcount(packed));
  const std::size_t start = out.size();
  out.resize(start + 1 + raw_planes * count);
  out[start] = static_cast<std::byte>(packed);
  PlanePointers<std::byte> planes{};
  std::byte* next_raw = out.data() + start + 1;
  for (unsigned p = 0; p < kPlanes; ++p) {
    const bool is_packed = packed >> p & 1;
    planes[p] = is_packed ? Scratch::of_this_thread().plane(p, count) : next_raw;
    if (!is_packed) next_raw += count;
  }
  split(values, planes);
  unsigned failed = 0;
  for (unsigned p = 0; p < kPlanes; ++p)
    if ((packed >> p & 1) && !append_frame(planes[p], count, out)) failed |= 1u << p;
  return failed;
}

// The plane's bytes: in the payload as they are, or decompressed into this thread's scratch.
Result<const std::byte*> read_frame(ByteReader& in, unsigned p, std::size_t count) {
  const ByteSpan frame = in.get_bytes(in.get<Length>());
  if (in.ran_short()) return Error{"truncated", fmt::format("plane {} is not whole", p)};
  // libzstd also reads frames one after the other, frames to be skipped, and formats of its youth;
  // a plane is exactly one frame of today's.
  if (frame.size() < 4 || ByteReader(frame).get<std::uint32_t>() != ZSTD_MAGICNUMBER ||
      ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return Error{"values", fmt::format("plane {} is not one zstd frame", p)};
  Scratch& scratch = Scratch::of_this_thread();
  std::byte* const plane = scratch.plane(p, count);
  const std::size_t size =
      ZSTD_decompressDCtx(scratch.decompressor(), plane, count, frame.data(), frame.size());
  if (size != count) return Error{"values", fmt::format("plane {} does not decompress", p)};
  return plane;
}

}  // namespace

std::size_t planes_bound(std::size_t count) {
  return 1 + kPlanes * count;
}

// zstd's best is a block of 128 KiB in four bytes, and there are four planes to pay for.
std::uint64_t planes_values_max(std::size_t bytes) {
  return std::uint64_t{bytes} * ((128 << 10) / 4 / kPlanes);
}

void encode_planes(std::span<const float> values, const Random&, Bytes& out) {
  CHECK(values.size() <= std::numeric_limits<Length>::max());
  const std::size_t start = out.size();
  out.reserve(start + planes_bound(values.size()));
  unsigned packed = promising_planes(values);
  while (const unsigned failed = append_planes(values, packed, out)) {
    out.resize(start);
    packed &= ~failed;
  }
}

Result<void> decode_planes(ByteSpan payload, std::span<float> values) {
  ByteReader in(payload);
  const auto packed = in.get<std::uint8_t>();
  if (in.ran_short()) return Error{"truncated", "there is not even a first byte"};
  if (packed >> kPlanes != 0)
    return Error{"values", fmt::format("there are {} planes, not eight", kPlanes)};
  PlanePointers<const std::byte> planes{};
  for (unsigned p = 0; p < kPlanes; ++p)
    if (!(packed >> p & 1)) planes[p] = in.get_bytes(values.size()).data();
  if (in.ran_short()) return Error{"truncated", "a plane is not whole"};
  for (unsigned p = 0; p < kPlanes; ++p) {
    if (!(packed >> p & 1)) continue;
    const Result<const std::byte*> plane = read_frame(in, p, values.size());
    if (!plane) return plane.error();
    planes[p] = *plane;
  }
  if (in.left() > 0) return Error{"trailing", fmt::format("{} bytes follow the planes", in.left())};
  merge(planes, values);
  return {};
}

}  // namespace tessera
