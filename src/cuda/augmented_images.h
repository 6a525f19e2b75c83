// Images changed a little every time they are trained on: how is drawn as the CPU trainer draws it,
// and done on the GPU.
#pragma once

#include "cuda/optimizer_kernels.h"
#include "cuda/runtime.h"
#include "learn/augment.h"

namespace tessera::cuda {

// Of a chunk: [step][node][batch], like its samples.
class AugmentedImages {
 public:
  AugmentedImages(const AugmentOptions& options, const Task& task);

  // Room for so many in a round, `together` of them in one step.
  void fit(std::size_t drawn, std::size_t together);
  // Before a round's draws: none is changed.
  void begin(std::size_t drawn) const;
  // Draws for one node's batch, `count` images from place `first` on.
  void draw(std::size_t first, std::size_t count, Random random) const;
  void upload(const Stream& stream, std::size_t drawn) const;
  // The images of a step, changed; theirs begin at place `first`.
  Rows moved(const Pass& pass, const Rows& samples, std::size_t first) const;

 private:
  AugmentOptions options_;
  ImageShape shape_;
  HostArray<ImageMove> moves_;
  DeviceArray<ImageMove> device_moves_;
  DeviceArray<float> images_;
};

}  // namespace tessera::cuda
