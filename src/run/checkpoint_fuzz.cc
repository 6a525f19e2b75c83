// A run's checkpoint with a few of its bytes changed, by an input that says where and to what: the
// first byte chooses the run, then come four of place and eight of number each.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "run/damage_for_tests.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  static const std::vector<SavedRun> saved = [] {
    std::vector<SavedRun> runs;
    for (const Experiment& experiment : busy_experiments())
      for (const int steps : {25, 90}) runs.push_back(save_after(experiment, steps));
    return runs;
  }();
  if (size == 0) return 0;
  const SavedRun& run = saved[data[0] % saved.size()];
  Bytes state = run.state;
  ByteReader in(std::as_bytes(std::span(data, size)).subspan(1));
  constexpr std::size_t kChangesMax = 4;
  for (std::size_t i = 0; i < kChangesMax && in.left() >= 12; ++i) {
    const std::size_t at = in.get<std::uint32_t>() % state.size();
    const ByteSpan number = in.get_bytes(8);
    std::copy_n(number.begin(), std::min(number.size(), state.size() - at), state.begin() + at);
  }
  (void)go_on(run.experiment, state, 60);
  return 0;
}
