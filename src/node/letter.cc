#include "node/letter.h"

#include "sharing/doubt.h"

namespace tessera {
namespace {

Result<ReadMessage> read_all(ByteSpan bytes) {
  Result<Message> decoded = decode(bytes);
  if (!decoded) return decoded.error();
  const double norm = norm_of(decoded->share.values);
  return ReadMessage{std::make_shared<const Message>(*std::move(decoded)), norm};
}

}  // namespace

const Result<ReadMessage>& Letter::read() const {
  std::call_once(once_, [this] { read_.emplace(read_all(bytes_)); });
  return *read_;
}

}  // namespace tessera
