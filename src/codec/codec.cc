#include "codec/codec.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/table.h"

namespace tessera {
namespace {

constexpr std::string_view kAuto = "auto";

// Like table.h's require_entry, except that "auto" is a name too, and worth suggesting.
template <typename Entry>
const Entry* entry_or_auto(std::span<const Entry> table, std::string_view kind,
                           std::string_view name) {
  if (name == kAuto) return nullptr;
  if (const Entry* entry = find_entry(table, name)) return entry;
  std::vector<std::string_view> names{kAuto};
  for (const Entry& entry : table) names.push_back(entry.name);
  throw std::invalid_argument(
      fmt::format("there is no {} codec '{}'.{}", kind, name, suggestion(name, names)));
}

const IndexCodec& smallest(const IndexSet& set) {
  const IndexCodec* best = nullptr;
  std::size_t best_size = 0;
  for (const IndexCodec& codec : index_codecs()) {
    const std::size_t size = codec.size(set);
    if (best && size >= best_size) continue;
    best = &codec;
    best_size = size;
  }
  return *best;
}

}  // namespace

Codec parse_codec(std::string_view text) {
  if (text == kAuto) return {};
  const auto halves = split(text, '+');
  if (halves.size() != 2)
    throw std::invalid_argument(fmt::format(
        "codec '{}': write indices+values, such as gamma+planes, or auto for the smallest", text));
  return {.indices = entry_or_auto(index_codecs(), "index", trimmed(halves[0])),
          .values = entry_or_auto(value_codecs(), "value", trimmed(halves[1]))};
}

std::string to_string(const Codec& codec) {
  if (!codec.indices && !codec.values) return std::string(kAuto);
  return fmt::format("{}+{}", codec.indices ? codec.indices->name : kAuto,
                     codec.values ? codec.values->name : kAuto);
}

const IndexCodec& encode_indices(const Codec& codec, const IndexSet& set, Bytes& out) {
  const IndexCodec& chosen = codec.indices ? *codec.indices : smallest(set);
  chosen.encode(set, out);
  return chosen;
}

const ValueCodec& encode_values(const Codec& codec, std::span<const float> values,
                                const Random& rounding, Bytes& out) {
  if (codec.values) {
    codec.values->encode(values, rounding, out);
    return *codec.values;
  }
  const ValueCodec* best = nullptr;
  Bytes best_payload, payload;
  for (const ValueCodec& candidate : value_codecs()) {
    if (!candidate.lossless) continue;
    payload.clear();
    candidate.encode(values, rounding, payload);
    if (best && payload.size() >= best_payload.size()) continue;
    best = &candidate;
    best_payload.swap(payload);
  }
  ByteWriter(out).put_bytes(best_payload);
  return *best;
}

}  // namespace tessera
