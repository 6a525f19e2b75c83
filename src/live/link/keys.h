// CURVE key pairs and their files. The private one is made readable by its owner only, and one that
// others can read is not used. Keys are text in Z85, 40 characters.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tessera {

struct KeyPair {
  std::string public_key{};
  std::string secret_key{};
};

KeyPair make_key_pair();

struct KeyFiles {
  std::filesystem::path secret{};  // NAME.key, mode 0600.
  std::filesystem::path shared{};  // NAME.pub, for the roster.
};
KeyFiles key_files(const std::filesystem::path& folder, std::string_view name);

// Makes both files. Errors: "exists" when either is there already, "file" when one cannot be made.
Result<KeyPair> make_key_files(const KeyFiles& files);

// The pair of a private key's file. Errors: "file", "mode" when others may read it, "key" when it
// does not hold a key.
Result<KeyPair> read_key_file(const std::filesystem::path& secret);

bool is_public_key(std::string_view text);

}  // namespace tessera
