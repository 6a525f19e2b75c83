// Attacks on what a protocol writes beside a share.
#include <array>
#include <cstdint>

#include "attack/attack.h"

namespace tessera {
namespace {

class Future final : public Attack {
 public:
  explicit Future(Round ahead) : ahead_(ahead) {}
  void change(Message& message, Random) const override { message.heading.round += ahead_; }

 private:
  Round ahead_;
};

class DegreeLies final : public Attack {
 public:
  void change(Message& message, Random random) const override {
    constexpr std::array<std::uint32_t, 3> kLies = {0, 1, UINT32_MAX};
    message.heading.degree = kLies[random.below(kLies.size())];
  }
};

class AgeLies final : public Attack {
 public:
  void change(Message& message, Random random) const override {
    message.heading.age = random.below(2) == 0 ? 0 : UINT64_MAX;
  }
};

}  // namespace

std::unique_ptr<Attack> make_future(Options& options) {
  return std::make_unique<Future>(
      static_cast<Round>(options.integer("ahead", 100, between(1, 1e8))));
}

std::unique_ptr<Attack> make_degree_lies(Options&) {
  return std::make_unique<DegreeLies>();
}

std::unique_ptr<Attack> make_age_lies(Options&) {
  return std::make_unique<AgeLies>();
}

}  // namespace tessera
