// Full sharing: D-PSGD (Lian et al., 2017) and Epidemic Learning (de Vos et al., 2023) send
// everything.
#include "sharing/average.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

class Full final : public Sharing {
 public:
  explicit Full(std::uint32_t dimension) : dimension_(dimension) {}

  void start(std::span<const float>) override {}

  std::vector<Share> pack(std::span<const float> model, const Random&) override {
    Share share{.dimension = dimension_, .coordinates = Everything{}};
    share.values.assign(model.begin(), model.end());
    return {std::move(share)};
  }

  Result<void> admit(Share& share) const override { return admit_for_averaging(share, dimension_); }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    average_filling_gaps(model, others);
  }

  void save(Bytes&) const override {}
  Result<void> load(ByteReader&) override { return {}; }

 private:
  std::uint32_t dimension_;
};

}  // namespace

std::unique_ptr<Sharing> make_full(Options&, const SharingContext& context) {
  return std::make_unique<Full>(context.dimension);
}

}  // namespace tessera
