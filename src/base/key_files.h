// Pairs of keys as files: NAME.key, which only its owner may read and which is never overwritten,
// and NAME.pub. What the keys are for is not known here.
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

struct KeyFiles {
  std::filesystem::path secret{};  // NAME.key, mode 0600.
  std::filesystem::path shared{};  // NAME.pub, for everyone.
};
KeyFiles key_files(const std::filesystem::path& folder, std::string_view name);

// Makes both files. Errors: "exists" when either is there already, "file" when one cannot be made.
Result<void> write_key_files(const KeyFiles& files, const KeyPair& keys);

// The text of a private key's file. Errors: "file", "mode" when others may read it.
Result<std::string> read_secret_file(const std::filesystem::path& secret);

}  // namespace tessera
