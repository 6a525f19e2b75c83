// CIFAR-10's binary version: six files of 10,000 records, each a label and 3 x 32 x 32 bytes, the
// red plane first.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

// Appends the records of one file, of which there must be `records`.
Result<void> parse_cifar10(ByteSpan file, std::size_t records, ByteHalf& half);

DataSource cifar10_source(Options& options);

}  // namespace tessera
