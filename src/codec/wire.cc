#include "codec/wire.h"

#include <fmt/format.h>

#include <algorithm>
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

void append_header(const Share& share, const Header& header, Bytes& out) {
  ByteWriter writer(out);
  const Heading& heading = header.heading;
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(kKindShare);
  writer.put(static_cast<std::uint8_t>(share.coordinates.index()));
  writer.put(header.index_codec ? header.index_codec->wire_id : kNoIndexCodec);
  writer.put(header.value_codec->wire_id);
  writer.put(static_cast<std::uint8_t>(heading.own.size()));
  for (std::size_t i = 0; i < kOwnInHeader; ++i)
    writer.put(i < heading.own.size() ? std::to_integer<std::uint8_t>(heading.own[i])
                                      : std::uint8_t{0});
  writer.put(header.envelope.sender);
  writer.put(header.envelope.run);
  writer.put(heading.age);
  writer.put(heading.round);
  writer.put(heading.degree);
  writer.put(share.dimension);
  writer.put(static_cast<std::uint32_t>(share.values.size()));
  writer.put(std::uint64_t{header.coordinate_bytes});
  writer.put(std::uint64_t{header.value_bytes});
}

Error refuse(std::string_view kind, std::string message) {
  return {kind, "message: " + std::move(message)};
}

// The fields before the numbers: whether this is a message that we can read at all.
Result<void> check_format(ByteReader& in) {
  if (const auto magic = in.get<std::uint32_t>(); magic != kMagic)
    return refuse("magic", fmt::format("starts with {:08x}, not {:08x}", magic, kMagic));
  if (const unsigned version = in.get<std::uint8_t>(); version != kVersion)
    return refuse("version",
                  fmt::format("has version {}; this program reads {}", version, kVersion));
  if (const unsigned kind = in.get<std::uint8_t>(); kind != kKindShare)
    return refuse("kind", fmt::format("is of unknown kind {}", kind));
  return {};
}

Result<void> check_codecs(ByteReader& in, Header& header) {
  header.coordinates_kind = in.get<std::uint8_t>();
  if (header.coordinates_kind >= std::variant_size_v<Coordinates>)
    return refuse("coordinates",
                  fmt::format("has coordinates of unknown kind {}", header.coordinates_kind));
  const auto index_id = in.get<std::uint8_t>();
  header.index_codec = find_index_codec(index_id);
  const bool listed = header.coordinates_kind == kind_number<Listed>() ||
                      header.coordinates_kind == kind_number<Changes>();
  if (listed ? header.index_codec == nullptr : index_id != kNoIndexCodec)
    return refuse("codec", fmt::format("names index codec {}", index_id));
  const auto value_id = in.get<std::uint8_t>();
  header.value_codec = find_value_codec(value_id);
  if (!header.value_codec) return refuse("codec", fmt::format("names value codec {}", value_id));
  return {};
}

// How many bytes are the protocol's own, and the first of them; where there are fewer, zeros.
Result<void> check_own(ByteReader& in, Bytes& own) {
  if (const auto size = in.get<std::uint8_t>(); size > 0) own.resize(size);
  for (std::size_t i = 0; i < kOwnInHeader; ++i) {
    const auto byte = std::byte{in.get<std::uint8_t>()};
    if (i < own.size())
      own[i] = byte;
    else if (byte != std::byte{0})
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

Result<Coordinates> decode_listed(ByteSpan section, const Header& header) {
  const bool numbered = header.coordinates_kind == kind_number<Changes>();
  ByteReader in(section);
  const auto number = numbered ? in.get<std::uint32_t>() : 0;
  if (in.ran_short()) return refuse("truncated", "ends within the number of its changes");
  Result<Indices> indices = decode_indices(section.last(in.left()), header);
  if (!indices) return indices.error();
  if (!numbered) return Coordinates(Listed{*std::move(indices)});
  return Coordinates(Changes{*std::move(indices), number});
}

Result<Coordinates> decode_coordinates(ByteSpan section, const Header& header) {
  if (header.index_codec) return decode_listed(section, header);
  ByteReader in(section);
  Coordinates coordinates = Everything{};
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
  return coordinates;
}

}  // namespace

Encoded encode(const Heading& heading, const Share& share, const Codec& codec,
               const Envelope& envelope, const Random& rounding) {
  CHECK(is_valid(share));
  CHECK(heading.own.size() <= kOwnBytesMax);
  Header header{.envelope = envelope, .heading = heading};
  Bytes out(kHeaderBytes);
  ByteWriter(out).put_bytes(rest_of(heading.own));
  const std::size_t front_bytes = out.size();
  header.index_codec = find_index_codec(append_coordinates(share, codec, out));
  header.coordinate_bytes = out.size() - front_bytes;
  const std::size_t values = share.values.size();
  // A range code's bound is far above what it ever takes.
  const std::size_t plain = values * sizeof(float);
  out.reserve(out.size() + (codec.values ? std::min(codec.values->bound(values), plain) : plain) +
              kChecksumBytes);
  header.value_codec = &encode_values(codec, share.values, rounding, out);
  header.value_bytes = out.size() - front_bytes - header.coordinate_bytes;
  Bytes front;
  front.reserve(kHeaderBytes);
  append_header(share, header, front);
  CHECK(front.size() == kHeaderBytes);
  std::memcpy(out.data(), front.data(), front.size());
  ByteWriter(out).put(hash_bytes(out));
  return {.bytes = std::move(out), .value_bytes = header.value_bytes};
}

Result<Header> peek(ByteSpan message) {
  if (message.size() < kHeaderBytes + kChecksumBytes)
    return refuse("truncated", fmt::format("of {} bytes is shorter than any", message.size()));
  ByteReader in(message);
  Header header;
  if (const auto fine = check_format(in); !fine) return fine.error();
  if (const auto fine = check_codecs(in, header); !fine) return fine.error();
  if (const auto fine = check_own(in, header.heading.own); !fine) return fine.error();
  header.envelope.sender = in.get<NodeId>();
  header.envelope.run = in.get<std::uint64_t>();
  header.heading.age = in.get<std::uint64_t>();
  header.heading.round = in.get<Round>();
  header.heading.degree = in.get<std::uint32_t>();
  header.dimension = in.get<std::uint32_t>();
  header.values = in.get<std::uint32_t>();
  header.coordinate_bytes = in.get<std::uint64_t>();
  header.value_bytes = in.get<std::uint64_t>();
  if (const auto fine = check_lengths(header, message.size()); !fine) return fine.error();
  if (const auto fine = check_count(header); !fine) return fine.error();
  if (const ByteSpan kept = rest_of(header.heading.own); !kept.empty()) {
    const ByteSpan rest = message.subspan(kHeaderBytes, kept.size());
    std::copy(rest.begin(), rest.end(), header.heading.own.end() - std::ssize(rest));
  }
  return header;
}

Result<Message> decode(ByteSpan message) {
  Result<Header> header = peek(message);
  if (!header) return header.error();
  const ByteSpan hashed = message.first(message.size() - kChecksumBytes);
  if (ByteReader(message.last(kChecksumBytes)).get<std::uint64_t>() != hash_bytes(hashed))
    return refuse("checksum", "was damaged on the way");
  const ByteSpan body = message.subspan(kHeaderBytes + rest_of(header->heading.own).size());
  auto coordinates = decode_coordinates(body.first(header->coordinate_bytes), *header);
  if (!coordinates) return coordinates.error();
  Share share{.dimension = header->dimension,
              .coordinates = *std::move(coordinates),
              .values = Vector(header->values)};
  const auto decoded = header->value_codec->decode(
      body.subspan(header->coordinate_bytes, header->value_bytes), share.values);
  if (!decoded)
    return refuse(decoded.error().kind,
                  fmt::format("{}: {}", header->value_codec->name, decoded.error().message));
  return Message{.envelope = header->envelope,
                 .heading = std::move(header->heading),
                 .share = std::move(share)};
}

}  // namespace tessera
