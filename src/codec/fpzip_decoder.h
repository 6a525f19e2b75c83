// A bounded decoder of fpzip streams, for payloads that come from other people. libfpzip's own
// decoder takes a pointer without a length: a truncated payload makes it read past the end and
// crash, and a forged one walks its tables with numbers nobody checked. A checksum proves nothing
// against a sender who computes checksums. Guard pages or a process of its own would contain the
// damage, at a fault handler or a context switch per message, and would still trust what the
// decoder does inside. So we encode with libfpzip, whose input is ours, and decode with the reader
// below: every read stays inside the span, every symbol is checked, time is O(values), and nothing
// is allocated. It accepts exactly the byte strings the encoder writes, and no others.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

// Decodes what fpzip_write_header and fpzip_write produce for FPZIP_TYPE_FLOAT at full precision
// (prec = 0) and nx = values.size(), ny = nz = nf = 1; bit for bit, NaN payloads included. Refuses
//   "header"     another magic, version, type, precision or size;
//   "truncated"  a payload that ends early, as every proper prefix of a stream does;
//   "trailing"   bytes after the end;
//   "values"     symbols the encoder cannot have written.
// When it refuses, what `values` holds is unspecified.
Result<void> decode_fpzip(ByteSpan payload, std::span<float> values);

// The most values that a payload of so many bytes can hold, so that a caller can refuse a count
// before it allocates. A value costs at least log2(1024 / 1023) bits, because the 64 symbols other
// than its own keep at least 64 of the model's 65,536 shares: at most 5,676 values for each byte
// after the first 26. (A million zeros, the cheapest there are, take 325 bytes.)
std::size_t fpzip_values_bound(std::size_t payload_bytes);

}  // namespace tessera
