// Images for benchmarks, in CIFAR-10's form and without its files.
#pragma once

#include <cstddef>

#include "data/dataset.h"

namespace tessera {

LoadedData images_like_cifar(std::size_t train, std::size_t test);

}  // namespace tessera
