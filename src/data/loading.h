// Small things every loader needs: errors that name their file, and a set from two halves.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "data/decoded.h"

namespace tessera {

// Parsers work on bytes and know positions; the loader adds which file.
inline Error in_file(const std::filesystem::path& file, const Error& error) {
  return {error.kind, file.string() + ": " + error.message};
}

// What a broken file holds, fit for one line of a message: no control characters, not too long.
std::string printable(std::string_view text);

// `remedy` ends the sentence: "scripts/get_data.sh cifar10 fetches it".
Result<void> require_folder(const std::filesystem::path& folder, std::string_view remedy);

// The files of a folder whose names end in one of `endings` (lower case; any case is found), sorted
// by name so that every machine reads them in the same order.
Result<std::vector<std::filesystem::path>> files_in(const std::filesystem::path& folder,
                                                    std::span<const std::string_view> endings);

// Where a set has a folder for each half, class or user: its sub-folders, sorted by name.
Result<std::vector<std::filesystem::path>> folders_in(const std::filesystem::path& folder);

// A set of images, on the scale asked for.
DecodedData image_data(std::string name, Task task, ByteHalf train, ByteHalf test,
                       Normalization scale);

}  // namespace tessera
