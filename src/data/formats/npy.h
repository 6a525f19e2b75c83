// NumPy's format of one array (.npy, versions 1 to 3): a magic number, a header that is a Python
// dictionary as text,
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (100, 28, 28), }
//
// and the values. Of Python only this much is understood, and nothing is ever run: arrays of
// objects, which are pickles, are refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

struct NpyHeader {
  char kind = 0;               // As numpy.dtype.kind: b, i, u, f, U or S.
  std::size_t item_bytes = 0;  // Of one value.
  bool swapped = false;        // Big-endian.
  bool fortran_order = false;  // The first index runs fastest.
  std::vector<std::uint64_t> extents{};
  std::uint64_t values = 0;  // The product of the extents.
  std::size_t begin = 0;     // Where the values begin.
};

// `file` is the whole file: what the header announces must be there to the byte.
Result<NpyHeader> parse_npy_header(ByteSpan file);

// Numbers with the last index running fastest, whatever the file's order. Unsigned bytes stay
// bytes; everything else becomes floats.
struct NpyArray {
  std::vector<std::uint32_t> extents{};
  std::vector<std::uint8_t> bytes{};
  std::vector<float> floats{};
};

// Numbers that are not finite as floats are refused.
Result<NpyArray> parse_npy(ByteSpan file);

// The values of a column, (n,) or (n, 1), as words: whole numbers, truth values or texts.
Result<std::vector<std::string>> parse_npy_words(ByteSpan file);

}  // namespace tessera
