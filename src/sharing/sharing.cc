#include "sharing/sharing.h"

#include <array>

#include "base/table.h"

namespace tessera {
namespace {

constexpr std::array kSharings = {
    SharingKind{"full", "full", "the whole model: D-PSGD, Epidemic Learning", make_full},
    SharingKind{"random", "random:budget=0.37", "a random part; only the seed of the mask travels",
                make_random_sampling},
    SharingKind{"topk", "topk:budget=0.37,accumulate=round,pieces=1",
                "the parameters that changed most, with or without memory", make_topk},
    SharingKind{"jwins",
                "jwins:wavelet=sym2,levels=4,budget=0.1/0.15/0.2/0.25/0.3/0.4/"
                "1,accumulate=round,full_above=0.5,pieces=1",
                "JWINS: a randomly sized part of what changed most in the wavelet domain",
                make_jwins},
    SharingKind{"choco", "choco:budget=0.2,step=0.4",
                "CHOCO-SGD: compressed differences, neighbours keep copies", make_choco, true},
    SharingKind{"fragments", "fragments:fraction=0.1",
                "DivShare: pieces of the model that travel apart, for protocols that scatter them",
                make_fragments, false, true},
};

}  // namespace

std::span<const SharingKind> sharings() {
  return kSharings;
}

const SharingKind& sharing_kind(std::string_view spec) {
  return require_entry(sharings(), "sharing", parse_spec(spec).name);
}

std::unique_ptr<Sharing> make_sharing(std::string_view spec, const SharingContext& context) {
  Options options(parse_spec(spec));
  std::unique_ptr<Sharing> sharing = sharing_kind(spec).make(options, context);
  options.done();
  return sharing;
}

}  // namespace tessera
