#include "sharing/sharing.h"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "sharing/average.h"

namespace tessera {
namespace {

constexpr std::array kSharings = {
    SharingKind{.name = "full",
                .usage = "full",
                .summary = "the whole model: D-PSGD, Epidemic Learning",
                .make = make_full},
    SharingKind{.name = "random",
                .usage = "random:budget=0.37",
                .summary = "a random part; only the seed of the mask travels",
                .make = make_random_sampling},
    SharingKind{.name = "topk",
                .usage = "topk:budget=0.37,accumulate=round,pieces=1,relative=no",
                .summary = "the parameters that changed most, with or without memory",
                .make = make_topk},
    SharingKind{
        .name = "jwins",
        .usage = "jwins:wavelet=sym2,levels=4,budget=0.1/0.15/0.2/0.25/0.3/0.4/"
                 "1,accumulate=round,full_above=0.5,pieces=1,relative=no",
        .summary = "JWINS: a randomly sized part of what changed most in the wavelet domain",
        .make = make_jwins},
    SharingKind{.name = "choco",
                .usage = "choco:budget=0.2,step=0.4,bits=0",
                .summary = "CHOCO-SGD: compressed differences, neighbours keep copies",
                .make = make_choco,
                .fixed_peers_only = true,
                .own_rule = true},
    SharingKind{.name = "loop",
                .usage = "loop:transform=wavelet,levels=4,step=1,budget=1,refresh=50",
                .summary = "closed loop: quantized differences from what was told, ranked in the "
                           "wavelet domain; neighbours keep copies",
                .make = make_loop,
                .fixed_peers_only = true,
                .resynchronizes = true},
    SharingKind{.name = "moniqua",
                .usage = "moniqua:theta=16,bits=12",
                .summary = "Moniqua: values modulo theta in a few bits; the receiver takes the "
                           "candidate nearest to its own",
                .make = make_moniqua},
    SharingKind{
        .name = "fragments",
        .usage = "fragments:fraction=0.1",
        .summary =
            "DivShare: pieces of the model that travel apart, for protocols that scatter them",
        .make = make_fragments},
};

OpenTable<SharingKind>& table() {
  static OpenTable<SharingKind> rows("sharing", kSharings);
  return rows;
}

}  // namespace

Vector Sharing::told_of(std::span<const float> model, const Coordinates& coordinates) const {
  return values_at(model, coordinates);
}

std::span<const SharingKind> sharings() {
  return table().rows();
}

void register_sharing(const SharingKind& kind) {
  table().add(kind);
}

Chosen<SharingKind> choose_sharing(std::string_view line) {
  return choose(sharings(), "sharing", line);
}

std::unique_ptr<Sharing> make_sharing(const Chosen<SharingKind>& chosen,
                                      const SharingContext& context) {
  if (chosen.kind->own_rule && context.rule)
    throw std::invalid_argument(fmt::format(
        "{}: it folds in what it hears by a rule of its own; use rule=auto", chosen.kind->name));
  Options options(chosen.spec);
  std::unique_ptr<Sharing> sharing = chosen.kind->make(options, context);
  options.done();
  return sharing;
}

std::unique_ptr<Sharing> make_sharing(std::string_view line, const SharingContext& context) {
  return make_sharing(choose_sharing(line), context);
}

}  // namespace tessera
