#include "live/link/keys.h"

#include <fmt/format.h>
#include <zmq.h>

#include <array>

#include "base/check.h"

namespace tessera {
namespace {

constexpr std::size_t kKeyCharacters = 40;

// 40 characters of Z85 and the zero ZeroMQ ends them with.
using KeyText = std::array<char, kKeyCharacters + 1>;

}  // namespace

KeyPair make_key_pair() {
  KeyText shared{}, secret{};
  CHECK(zmq_curve_keypair(shared.data(), secret.data()) == 0);
  return {shared.data(), secret.data()};
}

bool is_public_key(std::string_view text) {
  if (text.size() != kKeyCharacters) return false;
  std::array<std::uint8_t, 32> binary{};
  return zmq_z85_decode(binary.data(), std::string(text).c_str()) != nullptr;
}

Result<KeyPair> key_pair_of(const std::string& secret_key) {
  KeyText shared{};
  if (secret_key.size() != kKeyCharacters ||
      zmq_curve_public(shared.data(), secret_key.c_str()) != 0)
    return Error{"key", "a private key is 40 characters, as tessera keygen writes them"};
  return KeyPair{shared.data(), secret_key};
}

Bytes key_to_bytes(const std::string& key) {
  Bytes bytes(kKeyBytesLong);
  CHECK(key.size() == kKeyCharacters);
  CHECK(zmq_z85_decode(reinterpret_cast<std::uint8_t*>(bytes.data()), key.c_str()) != nullptr);
  return bytes;
}

std::string key_from_bytes(ByteSpan bytes) {
  CHECK(bytes.size() == kKeyBytesLong);
  KeyText text{};
  zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  return text.data();
}

Result<KeyPair> make_key_files(const KeyFiles& files) {
  const KeyPair keys = make_key_pair();
  if (const Result<void> made = write_key_files(files, keys); !made) return made.error();
  return keys;
}

Result<KeyPair> read_key_file(const std::filesystem::path& secret) {
  const Result<std::string> key = read_secret_file(secret);
  if (!key) return key.error();
  Result<KeyPair> keys = key_pair_of(*key);
  if (!keys)
    return Error{"key", fmt::format("{} does not hold a private key: it should be 40 characters, "
                                    "as tessera keygen writes them",
                                    secret.string())};
  return keys;
}

}  // namespace tessera
