// Your own text, to learn what follows: a window of characters, and the next one. One file, or a
// folder of .txt files, of which each is a user's. Characters are bytes; which there are, and their
// numbers, the line says, so that all nodes have the same whatever they read:
//
//   alphabet=bytes         all 256
//   alphabet=ascii         tab, newline and the 95 that print
//   alphabet=shakespeare   the 92 of the set of that name
//   alphabet=' abcxyz'     these, each once
//
// What is held out is the end of each file: windows overlap, and one drawn from the middle would be
// in its neighbours.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

// Characters by their number.
class Alphabet {
 public:
  // Nothing where a character is there twice, or fewer than two are.
  static std::optional<Alphabet> of(std::string_view text);

  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }  // Of each, to be printed.
  // The text in numbers. Characters that are not in the alphabet are refused with their place, or
  // left out.
  Result<std::vector<std::uint8_t>> numbers_of(std::string_view text, bool leave_out) const;

 private:
  friend std::optional<Alphabet> named_alphabet(std::string_view name);
  void add(unsigned char c, std::uint32_t number);

  static constexpr std::uint16_t kNone = 256;
  std::array<std::uint16_t, 256> numbers_ = none();
  std::vector<std::string> names_{};
  static constexpr std::array<std::uint16_t, 256> none() {
    std::array<std::uint16_t, 256> all{};
    all.fill(kNone);
    return all;
  }
};

// bytes, ascii or shakespeare; nothing for other names.
std::optional<Alphabet> named_alphabet(std::string_view name);

DataSource text_source(Options& options);

}  // namespace tessera
