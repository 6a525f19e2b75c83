#include "live/sign/signing.h"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <cstring>

#include "base/check.h"

namespace tessera {
namespace {

using Seed = std::array<unsigned char, crypto_sign_SEEDBYTES>;
using PublicKey = std::array<unsigned char, crypto_sign_PUBLICKEYBYTES>;
using SecretKey = std::array<unsigned char, crypto_sign_SECRETKEYBYTES>;
using Signature = std::array<unsigned char, crypto_sign_BYTES>;

constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

void begin_with_libsodium() {
  static const bool ready = sodium_init() >= 0;
  CHECK(ready);
}

const unsigned char* bytes_in(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

template <std::size_t N>
std::string hex(const std::array<unsigned char, N>& bytes) {
  std::array<char, 2 * N + 1> text{};
  return sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
}

// Whether the text is so many bytes in lower-case digits, as hex() writes them, and nothing else.
template <std::size_t N>
bool read_hex(std::string_view text, std::array<unsigned char, N>& bytes) {
  std::size_t read = 0;
  return text.size() == 2 * N &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         sodium_hex2bin(bytes.data(), N, text.data(), text.size(), nullptr, &read, nullptr) == 0 &&
         read == N;
}

struct Keys {
  PublicKey shared{};
  SecretKey secret{};
};

Keys keys_of(const Seed& seed) {
  begin_with_libsodium();
  Keys keys;
  CHECK(crypto_sign_seed_keypair(keys.shared.data(), keys.secret.data(), seed.data()) == 0);
  return keys;
}

}  // namespace

KeyPair make_signing_pair() {
  begin_with_libsodium();
  Seed seed{};
  randombytes_buf(seed.data(), seed.size());
  return {hex(keys_of(seed).shared), hex(seed)};
}

bool is_signing_key(std::string_view text) {
  PublicKey ignored{};
  return read_hex(text, ignored);
}

Result<KeyPair> read_signing_key(const std::filesystem::path& secret) {
  const Result<std::string> text = read_secret_file(secret);
  if (!text) return text.error();
  Seed seed{};
  if (!read_hex(*text, seed))
    return Error{"key", fmt::format("{} does not hold an owner's private key: it should be 64 "
                                    "digits, as tessera keygen --owner writes them",
                                    secret.string())};
  return KeyPair{hex(keys_of(seed).shared), *text};
}

std::string sign(std::string_view text, const KeyPair& signer) {
  Seed seed{};
  CHECK(read_hex(signer.secret_key, seed));
  const Keys keys = keys_of(seed);
  Signature signature{};
  CHECK(crypto_sign_detached(signature.data(), nullptr, bytes_in(text), text.size(),
                             keys.secret.data()) == 0);
  return hex(signature);
}

bool is_signed_by(std::string_view public_key, std::string_view text, std::string_view signature) {
  begin_with_libsodium();
  PublicKey key{};
  Signature read{};
  return read_hex(public_key, key) && read_hex(signature, read) &&
         crypto_sign_verify_detached(read.data(), bytes_in(text), text.size(), key.data()) == 0;
}

Bytes fingerprint(std::string_view text) {
  begin_with_libsodium();
  Bytes digest(crypto_generichash_BYTES);
  CHECK(crypto_generichash(reinterpret_cast<unsigned char*>(digest.data()), digest.size(),
                           bytes_in(text), text.size(), nullptr, 0) == 0);
  return digest;
}

std::string to_base64(ByteSpan bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), kVariant);
  text.pop_back();  // The zero at its end.
  return text;
}

Result<Bytes> from_base64(std::string_view text) {
  Bytes bytes(text.size() / 4 * 3 + 3);
  std::size_t length = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), text.data(),
                        text.size(), nullptr, &length, nullptr, kVariant) != 0)
    return Error{"base64", "not made of letters, digits, '-' and '_' as it was written"};
  bytes.resize(length);
  return bytes;
}

std::string signing_key_of(ByteSpan bytes) {
  PublicKey key{};
  CHECK(bytes.size() == key.size());
  std::memcpy(key.data(), bytes.data(), key.size());
  return hex(key);
}

Bytes bytes_of_signing_key(std::string_view key) {
  PublicKey read{};
  CHECK(read_hex(key, read));
  const ByteSpan bytes = std::as_bytes(std::span(read));
  return {bytes.begin(), bytes.end()};
}

}  // namespace tessera
