// How often things happened, each named by one word: messages turned away ("late", "checksum"), or
// what a protocol counts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tessera {

using WordCounts = std::map<std::string, std::uint64_t, std::less<>>;

}  // namespace tessera
