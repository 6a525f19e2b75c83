#include "live/runtime_control.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/archive.h"
#include "live/roster.h"

namespace tessera {
namespace {

constexpr std::uint32_t kMagic = 0x4c435354;  // "TSCL"; a share begins otherwise.

void put_body(const ModelRequest& request, Bytes& out) {
  ByteWriter writer(out);
  writer.put(request.nonce);
  writer.put(request.rounds);
}
void put_body(const ModelOffer& offer, Bytes& out) {
  ByteWriter writer(out);
  writer.put(offer.nonce);
  writer.put(offer.rounds);
  save_vector(offer.model, out);
}
void put_body(const Finished&, Bytes&) {}
void put_body(const Begun& begun, Bytes& out) {
  ByteWriter(out).put(begun.birth);
}
void put_body(const RosterHeld& held, Bytes& out) {
  ByteWriter(out).put(held.version);
}
void put_body(const RosterAsked&, Bytes&) {}
void put_body(const RosterTold& told, Bytes& out) {
  ByteWriter(out).put_bytes(bytes_of(std::string_view(told.text)));
}
void put_ids(const std::vector<NodeId>& ids, ByteWriter& out) {
  out.put(static_cast<std::uint32_t>(ids.size()));
  for (const NodeId id : ids) out.put(id);
}
void put_body(const CensusTold& told, Bytes& out) {
  ByteWriter writer(out);
  writer.put(static_cast<std::uint8_t>(told.begun));
  put_ids(told.there, writer);
  put_ids(told.finished, writer);
}

ModelRequest read_request(ByteReader& in) {
  ModelRequest request{.nonce = in.get<std::uint64_t>()};
  request.rounds = in.get<Round>();
  return request;
}

Result<Control> read_offer(ByteReader& in, std::size_t dimension) {
  ModelOffer offer{.nonce = in.get<std::uint64_t>()};
  offer.rounds = in.get<Round>();
  const auto length = in.get<std::uint64_t>();
  if (length != 0 && length != dimension)
    return Error{"control", "a model of another length is offered"};
  const ByteSpan bytes = in.get_bytes(length * sizeof(float));
  if (in.ran_short()) return Error{"control", "an offered model is cut short"};
  offer.model.resize(length);
  if (!bytes.empty()) std::memcpy(offer.model.data(), bytes.data(), bytes.size());
  return Control(std::move(offer));
}

Result<Control> read_told(ByteReader& in) {
  if (in.left() > Roster::kBytesMax) return Error{"control", "a roster that is too long"};
  const ByteSpan text = in.get_bytes(in.left());
  return Control(RosterTold{{reinterpret_cast<const char*>(text.data()), text.size()}});
}

// Nothing where they are not there, or not in order.
std::optional<std::vector<NodeId>> read_ids(ByteReader& in) {
  const auto count = in.get<std::uint32_t>();
  if (in.ran_short() || count > in.left() / sizeof(NodeId)) return std::nullopt;
  std::vector<NodeId> ids(count);
  for (NodeId& id : ids) id = in.get<NodeId>();
  if (!std::ranges::is_sorted(ids)) return std::nullopt;
  return ids;
}

Result<Control> read_census(ByteReader& in) {
  const auto begun = in.get<std::uint8_t>();
  std::optional<std::vector<NodeId>> there = read_ids(in);
  std::optional<std::vector<NodeId>> finished = there ? read_ids(in) : std::nullopt;
  if (begun > 1 || !there || !finished) return Error{"control", "a census that cannot be"};
  return Control(CensusTold{
      .begun = begun == 1, .there = *std::move(there), .finished = *std::move(finished)});
}

}  // namespace

bool is_control(ByteSpan message) {
  return ByteReader(message).get<std::uint32_t>() == kMagic;
}

std::shared_ptr<const Bytes> encode_control(const Control& control) {
  auto out = std::make_shared<Bytes>();
  ByteWriter writer(*out);
  writer.put(kMagic);
  writer.put(static_cast<std::uint8_t>(control.index()));
  std::visit([&](const auto& what) { put_body(what, *out); }, control);
  return out;
}

Result<Control> decode_control(ByteSpan message, std::size_t dimension) {
  ByteReader in(message);
  (void)in.get<std::uint32_t>();
  const auto kind = in.get<std::uint8_t>();
  Result<Control> control = Error{"control", "a control message of an unknown kind"};
  if (kind == 0) control = Control(read_request(in));
  if (kind == 1) control = read_offer(in, dimension);
  if (kind == 2) control = Control(Finished{});
  if (kind == 3) control = Control(Begun{in.get<std::uint64_t>()});
  if (kind == 4) control = Control(RosterHeld{in.get<std::uint64_t>()});
  if (kind == 5) control = Control(RosterAsked{});
  if (kind == 6) control = read_told(in);
  if (kind == 7) control = read_census(in);
  if (control.ok() && (in.ran_short() || in.left() > 0))
    return Error{"control", "a control message is cut short or too long"};
  return control;
}

}  // namespace tessera
