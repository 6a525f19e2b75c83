// Ed25519 signatures, by which the owner of a fleet vouches for its roster. Keys and signatures are
// text in hexadecimal digits: 64 of either key, 128 of a signature. Beside them, what else
// invitations need of libsodium.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/key_files.h"
#include "base/result.h"

namespace tessera {

KeyPair make_signing_pair();
// The pair of a private key's file. Errors: those of read_secret_file(), "key" when it does not
// hold one to sign with.
Result<KeyPair> read_signing_key(const std::filesystem::path& secret);
bool is_signing_key(std::string_view text);

std::string sign(std::string_view text, const KeyPair& signer);
// False as well where key or signature are none.
bool is_signed_by(std::string_view public_key, std::string_view text, std::string_view signature);

// BLAKE2b, 256 bits: nobody finds another text of the same fingerprint.
Bytes fingerprint(std::string_view text);

// A line that can be pasted anywhere: letters, digits, '-' and '_'.
std::string to_base64(ByteSpan bytes);
// Errors: "base64". Only what to_base64() writes is read.
Result<Bytes> from_base64(std::string_view text);
// 32 bytes as the digits that an owner's key is written in, and back.
std::string signing_key_of(ByteSpan bytes);
Bytes bytes_of_signing_key(std::string_view key);

}  // namespace tessera
