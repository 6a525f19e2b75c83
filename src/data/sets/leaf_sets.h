// The three LEAF sets of the JWINS paper.
//
//   femnist      28 x 28 grey pixels, 62 characters; a user is a writer
//   shakespeare  80 characters and the one that follows; a user is a role
//   celeba       84 x 84 RGB images from a folder, smiling or not; a user is a person
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

inline constexpr std::uint32_t kShakespeareVocabulary = 92;

// The number of a character in the vocabulary, which has 92 entries of which two are never used:
// both braces stand in it twice, and the second one counts, as in the Python reference.
std::optional<std::uint8_t> shakespeare_token(char character);

DataSource femnist_source(Options& options);
DataSource shakespeare_source(Options& options);
DataSource celeba_source(Options& options);

}  // namespace tessera
