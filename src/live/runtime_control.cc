#include "live/runtime_control.h"

#include <cstring>
#include <utility>

#include "base/archive.h"

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
  if (control.ok() && (in.ran_short() || in.left() > 0))
    return Error{"control", "a control message is cut short or too long"};
  return control;
}

}  // namespace tessera
