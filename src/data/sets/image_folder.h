// A person's own images: a folder with a sub-folder for each class. Where it has the sub-folders
// train and test, those hold the classes and the split is theirs; otherwise each class is split at
// random.
#pragma once

#include "base/spec.h"
#include "data/decoded.h"

namespace tessera {

DataSource image_folder_source(Options& options);

}  // namespace tessera
