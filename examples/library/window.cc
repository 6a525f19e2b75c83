// A sharing from outside the tree: a window of the model that moves on every round.
#include <sharing/average.h>

#include <algorithm>

using namespace tessera;

class Window final : public Sharing {
 public:
  Window(const SharingContext& context, std::uint32_t length)
      : dimension_(context.dimension), length_(length), rule_(rule_or(context, "gaps")) {}

  void start(std::span<const float>) override {}
  std::vector<Share> pack(std::span<const float> model, const Random&) override {
    Indices told;
    Vector values;
    for (std::uint32_t k = begin_; k < std::min(dimension_, begin_ + length_); ++k)
      told.push_back(k), values.push_back(model[k]);
    begin_ = told.back() + 1 == dimension_ ? 0 : told.back() + 1;
    return {{.dimension = dimension_, .coordinates = Listed{told}, .values = values}};
  }
  Result<HeardShare> admit(HeardShare share) const override {
    return admit_for_averaging(std::move(share), dimension_);
  }
  void merge(std::span<float> model, std::span<const Contribution> others) override {
    average(*rule_, model, others);
  }
  void fields(Archive& archive) override { archive(begin_); }  // What a checkpoint must keep.

 private:
  std::uint32_t dimension_, length_, begin_ = 0;
  std::shared_ptr<const Rule> rule_;
};

std::unique_ptr<Sharing> make_window(Options& options, const SharingContext& context) {
  return std::make_unique<Window>(context, options.integer("length", 400, between(1, 1e9)));
}
