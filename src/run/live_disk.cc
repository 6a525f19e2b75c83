#include "run/live_disk.h"

#include <fmt/format.h>

#include "base/text.h"

namespace tessera {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds(5);
constexpr std::uint64_t kLittle = 100 << 20;

}  // namespace

void DiskWatch::look(Instant now) {
  if (looked_at_ != Instant::min() && now - looked_at_ < kLookEvery) return;
  looked_at_ = now;
  left_ = space_();
}

std::string DiskWatch::alarm() const {
  if (left_ >= kLittle) return {};
  return fmt::format("DISK: {} are left where its records go",
                     show_bytes(static_cast<double>(left_)));
}

}  // namespace tessera
