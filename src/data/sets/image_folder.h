// A person's own images: a folder with a sub-folder for each class. Where it has the sub-folders
// train and test, those hold the classes and the split is theirs; otherwise each class is split at
// random.
#pragma once

#include "base/result.h"
#include "base/spec.h"
#include "data/dataset.h"

namespace tessera {

Result<LoadedData> load_image_folder(Options& options);

}  // namespace tessera
