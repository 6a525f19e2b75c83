#include "codec/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "base/hash.h"

namespace tessera {
namespace {

constexpr std::uint32_t kMagic = 0x41525354;  // The letters TSRA.
constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kKindShare = 1;
constexpr std::uint8_t kNoIndexCodec = 0;
constexpr std::size_t kOwnInHeader = 2;  // The first of the protocol's own bytes; the rest follow.

// The header's bytes, in their order.
struct HeaderLayout {
  std::uint32_t magic = kMagic;
  std::uint8_t version = kVersion;
  std::uint8_t kind = kKindShare;
  std::uint8_t coordinates_kind = 0;
  std::uint8_t index_codec = kNoIndexCodec;
  std::uint8_t value_codec = 0;
  std::uint8_t own_bytes = 0;
  std::array<std::byte, kOwnInHeader> own{};  // Where there are fewer, zeros.
  NodeId sender = 0;
  std::uint64_t run = 0;
  std::uint64_t age = 0;
  Round round = 0;
  std::uint32_t degree = 0;
  std::uint32_t dimension = 0;
  std::uint32_t values = 0;
  std::uint64_t coordinate_bytes = 0;
  std::uint64_t value_bytes = 0;
};
static_assert(sizeof(HeaderLayout) == kHeaderBytes &&
                  std::has_unique_object_representations_v<HeaderLayout>,
              "no byte of it is padding");

template <typename Kind>
constexpr std::size_t kind_number() {
  return Coordinates(Kind{}).index();
}

// What tells a receiver which coordinates the values belong to; the index codec that wrote it.
std::uint8_t append_coordinates(const Share& share, const Codec& codec, Bytes& out) {
  ByteWriter writer(out);
  if (const auto* changes = std::get_if<Changes>(&share.coordinates)) writer.put(changes->number);
  if (const Indices* indices = listed_in(share.coordinates))
    return encode_indices(codec, {*indices, share.dimension}, out).wire_id;
  if (const auto* drawn = std::get_if<Drawn>(&share.coordinates)) {
    writer.put(drawn->seed);
    writer.put(drawn->threshold);
  } else if (const auto* fragment = std::get_if<Fragment>(&share.coordinates)) {
    writer.put(fragment->id);
    writer.put(fragment->count);
    writer.put(fragment->layout_seed);
  }
  return kNoIndexCodec;
}

// The protocol's own bytes that do not fit into the header.
ByteSpan rest_of(const Bytes& own) {
  return ByteSpan(own).subspan(std::min(own.size(), kOwnInHeader));
}

// All but what the sections' codecs have yet to say.
HeaderLayout layout_of(const Heading& heading, const Share& share, const Envelope& envelope) {
  HeaderLayout layout{.coordinates_kind = static_cast<std::uint8_t>(share.coordinates.index()),
                      .own_bytes = static_cast<std::uint8_t>(heading.own.size()),
                      .sender = envelope.sender,
                      .run = envelope.run,
                      .age = heading.age,
                      .round = heading.round,
                      .degree = heading.degree,
                      .dimension = share.dimension,
                      .values = static_cast<std::uint32_t>(share.values.size())};
  std::copy_n(heading.own.begin(), std::min(heading.own.size(), kOwnInHeader), layout.own.begin());
  return layout;
}

Error refuse(std::string_view kind, std::string message) {
  return {kind, "message: " + std::move(message)};
}

// Whether this is a message that we can read at all.
Result<void> check_format(const HeaderLayout& in) {
  if (in.magic != kMagic)
    return refuse("magic", fmt::format("starts with {:08x}, not {:08x}", in.magic, kMagic));
  if (in.version != kVersion)
    return refuse("version",
                  fmt::format("has version {}; this program reads {}", in.version, kVersion));
  if (in.kind != kKindShare) return refuse("kind", fmt::format("is of unknown kind {}", in.kind));
  return {};
}

Result<void> check_codecs(const HeaderLayout& in, Header& header) {
  header.coordinates_kind = in.coordinates_kind;
  if (in.coordinates_kind >= std::variant_size_v<Coordinates>)
    return refuse("coordinates",
                  fmt::format("has coordinates of unknown kind {}", in.coordinates_kind));
  const bool listed =
      in.coordinates_kind == kind_number<Listed>() || in.coordinates_kind == kind_number<Changes>();
  if (listed) header.index_codec = find_index_codec(in.index_codec);
  if (listed ? header.index_codec == nullptr : in.index_codec != kNoIndexCodec)
    return refuse("codec", fmt::format("names index codec {}", in.index_codec));
  header.value_codec = find_value_codec(in.value_codec);
  if (!header.value_codec)
    return refuse("codec", fmt::format("names value codec {}", in.value_codec));
  return {};
}

// Those of the protocol's own bytes that are in the header.
Result<void> check_own(const HeaderLayout& in, Bytes& own) {
  if (in.own_bytes > 0) own.resize(in.own_bytes);
  for (std::size_t i = 0; i < kOwnInHeader; ++i) {
    if (i < own.size())
      own[i] = in.own[i];
    else if (in.own[i] != std::byte{0})
      return refuse("reserved", "has a reserved byte set");
  }
  return {};
}

// The sections and nothing else lie between header and checksum. Each is compared with what is
// left, never added up: a sum of lengths from outside may overflow.
Result<void> check_lengths(const Header& header, std::size_t message_bytes) {
  const std::size_t room = message_bytes - kHeaderBytes - kChecksumBytes;
  const std::size_t own = rest_of(header.heading.own).size();
  if (own > room)
    return refuse("truncated", fmt::format("of {} bytes announces {} of its protocol's own",
                                           message_bytes, header.heading.own.size()));
  const std::size_t body = room - own;
  if (header.coordinate_bytes > body || header.value_bytes > body - header.coordinate_bytes)
    return refuse("truncated",
                  fmt::format("of {} bytes announces sections of {} and {}", message_bytes,
                              header.coordinate_bytes, header.value_bytes));
  if (header.value_bytes < body - header.coordinate_bytes)
    return refuse("trailing", fmt::format("has {} bytes too many",
                                          body - header.coordinate_bytes - header.value_bytes));
  return {};
}

// No more values than there are coordinates, or than the sections can hold.
Result<void> check_count(const Header& header) {
  const bool everything = header.coordinates_kind == kind_number<Everything>();
  if (everything ? header.values != header.dimension : header.values > header.dimension)
    return refuse("count",
                  fmt::format("has {} values for {} coordinates", header.values, header.dimension));
  if (header.values > header.value_codec->values_max(header.value_bytes))
    return refuse("count", fmt::format("has {} values in {} bytes of {}", header.values,
                                       header.value_bytes, header.value_codec->name));
  if (header.index_codec &&
      header.values > header.index_codec->indices_max(header.coordinate_bytes))
    return refuse("count", fmt::format("has {} indices in {} bytes of {}", header.values,
                                       header.coordinate_bytes, header.index_codec->name));
  return {};
}

Result<Indices> decode_indices(ByteSpan section, const Header& header) {
  Indices indices(header.values);
  const auto decoded = header.index_codec->decode(section, header.dimension, indices);
  if (!decoded) {
    const Error& error = decoded.error();
    return refuse(error.kind, fmt::format("{}: {}", header.index_codec->name, error.message));
  }
  return indices;
}

Result<void> read_listed(ByteSpan section, const Header& header, Coordinates& coordinates) {
  const bool numbered = header.coordinates_kind == kind_number<Changes>();
  ByteReader in(section);
  const auto number = numbered ? in.get<std::uint32_t>() : 0;
  if (in.ran_short()) return refuse("truncated", "ends within the number of its changes");
  Result<Indices> indices = decode_indices(section.last(in.left()), header);
  if (!indices) return indices.error();
  if (numbered)
    coordinates = Changes{*std::move(indices), number};
  else
    coordinates = Listed{*std::move(indices)};
  return {};
}

// `coordinates` are Everything before.
Result<void> read_coordinates(ByteSpan section, const Header& header, Coordinates& coordinates) {
  if (header.index_codec) return read_listed(section, header, coordinates);
  ByteReader in(section);
  if (header.coordinates_kind == kind_number<Drawn>()) {
    const auto seed = in.get<std::uint64_t>();
    coordinates = Drawn{.seed = seed, .threshold = in.get<std::uint32_t>()};
  } else if (header.coordinates_kind == kind_number<Fragment>()) {
    Fragment fragment{};
    fragment.id = in.get<std::uint32_t>();
    fragment.count = in.get<std::uint32_t>();
    fragment.layout_seed = in.get<std::uint64_t>();
    if (fragment.id >= fragment.count)
      return refuse("coordinates",
                    fmt::format("is fragment {} of {}", fragment.id, fragment.count));
    coordinates = fragment;
  }
  if (in.ran_short() || in.left() > 0)
    return refuse("coordinates", fmt::format("tells its coordinates in {} bytes", section.size()));
  return {};
}

Result<void> read_header(ByteSpan message, Header& header) {
  if (message.size() < kHeaderBytes + kChecksumBytes)
    return refuse("truncated", fmt::format("of {} bytes is shorter than any", message.size()));
  HeaderLayout in;
  std::memcpy(&in, message.data(), sizeof in);
  if (auto fine = check_format(in); !fine) return fine;
  if (auto fine = check_codecs(in, header); !fine) return fine;
  if (auto fine = check_own(in, header.heading.own); !fine) return fine;
  header.envelope = {.run = in.run, .sender = in.sender};
  header.heading.round = in.round;
  header.heading.degree = in.degree;
  header.heading.age = in.age;
  header.dimension = in.dimension;
  header.values = in.values;
  header.coordinate_bytes = in.coordinate_bytes;
  header.value_bytes = in.value_bytes;
  if (auto fine = check_lengths(header, message.size()); !fine) return fine;
  if (auto fine = check_count(header); !fine) return fine;
  if (const ByteSpan kept = rest_of(header.heading.own); !kept.empty()) {
    const ByteSpan rest = message.subspan(kHeaderBytes, kept.size());
    std::copy(rest.begin(), rest.end(), header.heading.own.end() - std::ssize(rest));
  }
  return {};
}

}  // namespace

Encoded encode(const Heading& heading, const Share& share, const Codec& codec,
               const Envelope& envelope, const Random& rounding) {
  CHECK(is_valid(share));
  CHECK(heading.own.size() <= kOwnBytesMax);
  HeaderLayout header = layout_of(heading, share, envelope);
  Bytes out(kHeaderBytes);
  ByteWriter(out).put_bytes(rest_of(heading.own));
  const std::size_t front_bytes = out.size();
  header.index_codec = append_coordinates(share, codec, out);
  header.coordinate_bytes = out.size() - front_bytes;
  const std::size_t values = share.values.size();
  // A range code's bound is far above what it ever takes.
  const std::size_t plain = values * sizeof(float);
  out.reserve(out.size() + (codec.values ? std::min(codec.values->bound(values), plain) : plain) +
              kChecksumBytes);
  header.value_codec = encode_values(codec, share.values, rounding, out).wire_id;
  header.value_bytes = out.size() - front_bytes - header.coordinate_bytes;
  std::memcpy(out.data(), &header, sizeof header);
  ByteWriter(out).put(hash_bytes(out));
  return {.bytes = std::move(out), .value_bytes = header.value_bytes};
}

Result<Header> peek(ByteSpan message) {
  Header header;
  if (const auto fine = read_header(message, header); !fine) return fine.error();
  return header;
}

Result<Message> decode(ByteSpan message) {
  Header header;
  if (const auto fine = read_header(message, header); !fine) return fine.error();
  const ByteSpan hashed = message.first(message.size() - kChecksumBytes);
  if (ByteReader(message.last(kChecksumBytes)).get<std::uint64_t>() != hash_bytes(hashed))
    return refuse("checksum", "was damaged on the way");
  const ByteSpan body = message.subspan(kHeaderBytes + rest_of(header.heading.own).size());
  Message read{.envelope = header.envelope,
               .heading = std::move(header.heading),
               .share = {.dimension = header.dimension, .values = Vector(header.values)}};
  Share& share = read.share;
  const ByteSpan coordinates = body.first(header.coordinate_bytes);
  if (const auto fine = read_coordinates(coordinates, header, share.coordinates); !fine)
    return fine.error();
  const auto decoded = header.value_codec->decode(
      body.subspan(header.coordinate_bytes, header.value_bytes), share.values);
  if (!decoded)
    return refuse(decoded.error().kind,
                  fmt::format("{}: {}", header.value_codec->name, decoded.error().message));
  return read;
}

}  // namespace tessera
