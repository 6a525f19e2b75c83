// CURVE key pairs, by which nodes know each other. Keys are text in Z85, 40 characters.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/key_files.h"
#include "base/result.h"

namespace tessera {

KeyPair make_key_pair();

// A new pair in both files. Errors: those of write_key_files().
Result<KeyPair> make_key_files(const KeyFiles& files);

// The pair of a private key's file. Errors: those of read_secret_file(), "key" when it does not
// hold a key.
Result<KeyPair> read_key_file(const std::filesystem::path& secret);

bool is_public_key(std::string_view text);

// The pair of a private key. Errors: "key" when it is none.
Result<KeyPair> key_pair_of(const std::string& secret_key);

// A key as the 32 bytes it stands for, and back.
inline constexpr std::size_t kKeyBytesLong = 32;
Bytes key_to_bytes(const std::string& key);
std::string key_from_bytes(ByteSpan bytes);

}  // namespace tessera
