// What every row of the table must show, on random inputs; then what each kind promises of its own.
#include "sharing/sharing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "base/archive.h"
#include "codec/index_codec.h"
#include "math/vector_ops.h"
#include "math/wavelet.h"
#include "sharing/average.h"
#include "sharing/fragment_layout.h"
#include "sharing/world_for_tests.h"

namespace tessera {
namespace {

std::vector<std::string> default_specs() {
  std::vector<std::string> specs;
  for (const SharingKind& kind : sharings()) specs.emplace_back(kind.name);
  for (const char* variant :
       {"jwins:transform=none", "jwins:transform=fft", "jwins:accumulate=no",
        "jwins:accumulate=training", "topk:accumulate=no", "jwins:wavelet=db4,levels=2",
        "jwins:pieces=4", "topk:pieces=3", "jwins:relative=yes", "topk:relative=yes,pieces=3",
        "jwins:relative=yes,accumulate=training", "loop:transform=none,refresh=2",
        "loop:transform=fft,step=4"})
    specs.emplace_back(variant);
  return specs;
}

void expect_near(const Vector& a, const Vector& b, float tolerance, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    ASSERT_NEAR(a[k], b[k], tolerance) << what << " at " << k;
}

TEST(EverySharing, NodesThatAgreeStayStill) {
  for (const std::string& spec : default_specs()) {
    for (const std::size_t nodes : {1u, 2u, 5u}) {
      const Vector initial = test_model(257, 1);
      TestWorld world(spec, nodes, initial);
      for (std::uint64_t round = 0; round < 10; ++round) world.exchange(Random(round));
      for (const Vector& model : world.models) expect_near(model, initial, 5e-6f, spec);
    }
  }
}

// One round of plain averaging on the ring, written out.
std::vector<Vector> averaged(const TestWorld& world) {
  std::vector<Vector> result = world.models;
  for (std::size_t i = 0; i < result.size(); ++i)
    for (const std::size_t j : world.peers(i))
      for (std::size_t k = 0; k < result[i].size(); ++k)
        result[i][k] += world.weight() * (world.models[j][k] - world.models[i][k]);
  return result;
}

TEST(EverySharing, AFullBudgetEqualsPlainAveraging) {
  for (const char* spec :
       {"full", "random:budget=1", "topk:budget=1", "jwins:budget=1", "jwins:budget=1,full_above=2",
        "jwins:budget=1,transform=fft", "choco:budget=1,step=1"}) {
    TestWorld world(spec, 5, test_model(101, 2));
    for (std::uint64_t round = 0; round < 6; ++round) {
      world.train(Random(round));
      const std::vector<Vector> expected = averaged(world);
      world.exchange(Random(round));
      for (std::size_t i = 0; i < expected.size(); ++i)
        expect_near(world.models[i], expected[i], 2e-5f, spec);
    }
  }
}

TEST(EverySharing, TheShareRespectsTheBudget) {
  for (const char* spec : {"random:budget=0.2", "topk:budget=0.2", "jwins:budget=0.2",
                           "choco:budget=0.2", "loop:budget=0.2,refresh=0"}) {
    TestWorld world(spec, 3, test_model(5000, 3));
    for (std::uint64_t round = 0; round < 5; ++round) {
      world.train(Random(round));
      for (const Share& share : world.exchange(Random(round))) {
        // The mask of random sampling is binomial: 1000 of 5000 give or take five deviations of 28.
        const double slack = std::string(spec).starts_with("random") ? 142 : 3;
        EXPECT_NEAR(static_cast<double>(share.values.size()), 1000, slack) << spec;
      }
    }
  }
}

TEST(EverySharing, ContinuesFromASavedState) {
  for (const std::string& spec : default_specs()) {
    TestWorld world(spec, 3, test_model(120, 4));
    for (std::uint64_t round = 0; round < 4; ++round)
      world.train(Random(round)), world.exchange(Random(round));
    TestWorld restored(spec, 3, test_model(120, 4));
    restored.models = world.models;
    for (std::size_t i = 0; i < 3; ++i) {
      Bytes saved;
      save_fields(*world.sharings[i], saved);
      ByteReader in(saved);
      ASSERT_TRUE(load_fields(*restored.sharings[i], in).ok()) << spec;
      EXPECT_EQ(in.left(), 0u) << spec;
    }
    for (std::uint64_t round = 4; round < 8; ++round) {
      world.train(Random(round)), restored.train(Random(round));
      world.exchange(Random(round)), restored.exchange(Random(round));
    }
    EXPECT_EQ(restored.models, world.models) << spec;
  }
}

TEST(EverySharing, RefusesASavedStateThatIsNotItsOwn) {
  for (const char* spec : {"jwins", "topk", "choco", "loop"}) {
    const auto small = make_sharing(spec, {.dimension = 50}),
               large = make_sharing(spec, {.dimension = 60});
    Bytes saved;
    save_fields(*small, saved);
    ByteReader in(saved);
    EXPECT_FALSE(load_fields(*large, in).ok()) << spec;
    saved.resize(saved.size() - 1);
    ByteReader cut(saved);
    EXPECT_FALSE(load_fields(*small, cut).ok()) << spec;
  }
}

TEST(EverySharing, AdmitsOnlyWhatIsForIt) {
  for (const std::string& spec : default_specs()) {
    const auto sharing = make_sharing(spec, {.dimension = 300});
    Vector model = test_model(300, 5);
    sharing->start(Vector(300, 0.0f));
    const Share good = sharing->pack(model, Random(1)).front();
    const Result<HeardShare> once = admit(*sharing, good);
    ASSERT_TRUE(once.ok()) << spec;
    EXPECT_EQ(*sharing->admit(*once).value(), **once) << spec;
    Share other_model = good;
    other_model.dimension += 1;
    EXPECT_EQ(admit(*sharing, other_model).error().kind, "dimension") << spec;
    Share too_few = good;
    too_few.values.pop_back();
    EXPECT_EQ(admit(*sharing, too_few).error().kind, "count") << spec;
    Share fragment = good;
    fragment.coordinates = Fragment{};
    EXPECT_FALSE(admit(*sharing, fragment).ok()) << spec;
  }
}

// The published accumulator, step by step as the reference code has it: A, s = A + T(x_tr -
// x_start), A[I] = 0, and at the end of the round A += T(x_new - x_start). The stored-reference
// form must choose the same coefficients.
struct AccumulatorForm {
  WaveletPlan plan;
  Vector accumulator, start;

  AccumulatorForm(Vector initial)
      : plan(plan_wavelet("sym2", 4, initial.size())),
        accumulator(plan.coefficients(), 0.0f),
        start(initial) {}

  Vector transformed_change(const Vector& to) const {
    Vector change(to.size()), coefficients(plan.coefficients());
    for (std::size_t k = 0; k < to.size(); ++k) change[k] = to[k] - start[k];
    wavelet_forward(plan, change, coefficients);
    return coefficients;
  }

  // How far below the k-th largest score the smallest chosen one lies: zero when the choice is the
  // accumulator's own.
  float shortfall(const Vector& trained, const Indices& chosen) const {
    Vector scores = transformed_change(trained);
    for (std::size_t k = 0; k < scores.size(); ++k)
      scores[k] = std::abs(scores[k] + accumulator[k]);
    float smallest = INFINITY;
    for (const std::uint32_t k : chosen) smallest = std::min(smallest, scores[k]);
    std::nth_element(scores.begin(),
                     scores.begin() + static_cast<std::ptrdiff_t>(chosen.size() - 1), scores.end(),
                     std::greater<>());
    return scores[chosen.size() - 1] - smallest;
  }

  void finish_round(const Vector& merged, const Indices& chosen, bool all) {
    for (const std::uint32_t k : chosen) accumulator[k] = 0;
    if (all) std::fill(accumulator.begin(), accumulator.end(), 0.0f);
    const Vector change = transformed_change(merged);
    for (std::size_t k = 0; k < change.size(); ++k) accumulator[k] += change[k];
    start = merged;
  }
};

TEST(Jwins, TheReferenceFormEqualsTheAccumulatorForm) {
  const Vector initial = test_model(403, 6);
  TestWorld world("jwins", 6, initial);
  std::vector<AccumulatorForm> forms(6, AccumulatorForm(initial));
  int partial = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    world.train(Random(round));
    const std::vector<Vector> trained = world.models;
    const std::vector<Share> sent = world.exchange(Random(round));
    for (std::size_t i = 0; i < 6; ++i) {
      const auto* listed = std::get_if<Listed>(&sent[i].coordinates);
      // Both forms rank the same sums, rounded differently: a choice may differ only between scores
      // that are equal to within that rounding.
      if (listed) {
        ++partial;
        EXPECT_LE(forms[i].shortfall(trained[i], listed->indices), 2e-5f);
      }
      forms[i].finish_round(world.models[i], listed ? listed->indices : Indices{},
                            listed == nullptr);
    }
  }
  EXPECT_GT(partial, 150);
}

// The same is told of the same coefficients, less what all had at the start; and the models are the
// same to rounding.
TEST(Jwins, RelativeValuesAreChangesSinceTheStart) {
  const Vector initial = test_model(403, 6);
  const std::string spec = "jwins:budget=0.2";
  TestWorld absolute(spec, 4, initial), relative(spec + ",relative=yes", 4, initial);
  const WaveletPlan plan = plan_wavelet("sym2", 4, initial.size());
  Vector base(plan.coefficients());
  const auto expect_less_base = [&](const Share& whole, const Share& less) {
    const Indices& indices = std::get<Listed>(whole.coordinates).indices;
    ASSERT_EQ(indices, std::get<Listed>(less.coordinates).indices);
    for (std::size_t i = 0; i < indices.size(); ++i)
      ASSERT_NEAR(less.values[i], whole.values[i] - base[indices[i]], 2e-5f);
  };
  for (std::uint64_t round = 0; round < 6; ++round) {
    if (round % 3 == 0) {  // All average exactly, and begin anew from there.
      const Vector common = absolute.models.front();
      for (TestWorld* world : {&absolute, &relative})
        for (std::size_t i = 0; i < 4; ++i) {
          world->models[i] = common;
          world->sharings[i]->start(common);
        }
      wavelet_forward(plan, common, base);
    }
    for (TestWorld* world : {&absolute, &relative}) world->train(Random(round));
    const std::vector<Share> whole = absolute.exchange(Random(round)),
                             less = relative.exchange(Random(round));
    for (std::size_t i = 0; i < 4; ++i) {
      expect_less_base(whole[i], less[i]);
      expect_near(relative.models[i], absolute.models[i], 2e-5f, "a model");
    }
  }
}

double gamma_bytes(const Indices& indices, std::uint32_t dimension) {
  for (const IndexCodec& codec : index_codecs())
    if (codec.name == "gamma") return static_cast<double>(codec.size({indices, dimension}));
  ADD_FAILURE() << "no gamma";
  return 0;
}

// 37% budget: a mean of 34.29% of the coefficients, and with gamma-coded indices at random
// places 36.55% of the bytes of full sharing (computed from the code lengths). Real indices cluster
// and cost less, so places are drawn at random here.
TEST(Jwins, TheDefaultListCostsAThirdOfFullSharing) {
  const std::uint32_t dimension = 89843;
  double fractions = 0, bytes = 0;
  Random random(7);
  for (const double fraction : {0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 1.0}) {
    fractions += fraction / 7;
    Indices chosen;
    if (fraction < 1) {
      chosen = random.sample(dimension, static_cast<std::uint32_t>(fraction * dimension));
      std::sort(chosen.begin(), chosen.end());
    }
    const double index_bytes = fraction < 1 ? gamma_bytes(chosen, dimension) : 0;
    bytes += (fraction * dimension * 4 + index_bytes) / 7;
  }
  EXPECT_NEAR(fractions, 0.3429, 1e-4);
  EXPECT_NEAR(bytes / (dimension * 4), 0.3655, 3e-4);
}

TEST(Jwins, TheCutOffIsDrawnFromTheList) {
  TestWorld world("jwins:budget=0.1/0.4/1", 1, test_model(1000, 8));
  std::map<std::size_t, int> sizes;
  for (std::uint64_t round = 0; round < 300; ++round)
    ++sizes[world.exchange(Random(round)).front().values.size()];
  ASSERT_EQ(sizes.size(), 3u);
  for (const auto& [size, times] : sizes)
    EXPECT_NEAR(times, 100, 41) << size;  // Five deviations of 8.2.
}

TEST(Choco, AnEmptyShareWhenNothingChanged) {
  TestWorld world("choco:budget=1,step=1", 1, test_model(50, 9));
  EXPECT_EQ(world.exchange(Random(0)).front().values.size(), 50u);
  EXPECT_EQ(world.exchange(Random(1)).front().values.size(), 0u);
}

// By hand: n = 4, bits = 2, so s = 2 and tau = 1 + min(4 / 4, 2 / 2) = 2. |d| is 4.15, and the unit
// the power of two up to 4.15 / (2 * 2): 1. A value of 2 is 2 / tau = 1 unit exactly, -1 is half a
// unit: told as -1 every other time, and otherwise not at all.
TEST(Choco, QuantizesAtRandomWithoutBias) {
  const Vector model = {2, -1, 0, 3.5f};
  std::map<std::size_t, int> sizes;
  Vector sum(4, 0.0f);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const auto sharing = make_sharing("choco:bits=2", {.dimension = 4});
    const Share share = sharing->pack(model, Random(seed)).front();
    const Indices& indices = std::get<Listed>(share.coordinates).indices;
    ++sizes[indices.size()];
    for (std::size_t i = 0; i < indices.size(); ++i) {
      EXPECT_EQ(share.values[i], std::nearbyint(share.values[i]));
      sum[indices[i]] += share.values[i] / 1000;
    }
  }
  EXPECT_NEAR(sum[0], 1, 1e-4);  // d / tau.
  EXPECT_EQ(sum[2], 0.0f);
  EXPECT_NEAR(sum[1], -0.5, 0.08);  // Five deviations of 0.016.
  EXPECT_NEAR(sum[3], 1.75, 0.08);
  EXPECT_NEAR(sizes[2], 500, 80);
  EXPECT_EQ(sizes[2] + sizes[3], 1000);
}

// What was rounded off stays in the next difference: the copy comes to a model that stands still,
// in units that shrink with the distance.
TEST(Choco, AQuantizedCopyComesToTheModel) {
  for (const char* spec : {"choco:bits=5", "choco:bits=3,budget=0.5", "choco:bits=1"}) {
    const Vector model = test_model(500, 4);
    TestWorld world(spec, 1, model);
    for (std::uint64_t round = 0; round < 400; ++round) world.exchange(Random(round));
    const Vector left = world.sharings[0]->told_of(model, Everything{});
    EXPECT_LT(squared_norm(left), 1e-4 * squared_norm(model)) << spec;
    EXPECT_EQ(world.models[0], model) << spec;
  }
}

TEST(Choco, ContinuesFromASavedStateWithBits) {
  TestWorld world("choco:bits=4", 3, test_model(60, 5)),
      restored("choco:bits=4", 3, test_model(60, 5));
  for (std::uint64_t round = 0; round < 3; ++round) world.exchange(Random(round));
  restored.models = world.models;
  for (std::size_t i = 0; i < 3; ++i) {
    Bytes saved;
    save_fields(*world.sharings[i], saved);
    ByteReader in(saved);
    ASSERT_TRUE(load_fields(*restored.sharings[i], in).ok());
  }
  world.exchange(Random(9)), restored.exchange(Random(9));
  EXPECT_EQ(restored.models, world.models);
}

TEST(MakeSharing, RefusesWhatCannotBe) {
  const SharingContext context{.dimension = 10};
  for (const char* spec :
       {"fulll", "random:budget=0", "random:budget=1.5", "jwins:bugdet=1",
        "jwins:budget=0.1@0.5/1@0.6", "jwins:budget=0.1@-1/0.2@2", "jwins:accumulate=maybe",
        "jwins:wavelet=sym9", "jwins:levels=0", "topk:budget=-1", "choco:bits=17", "choco:bits=-1"})
    EXPECT_THROW((void)make_sharing(spec, context), std::invalid_argument) << spec;
  EXPECT_THROW((void)make_sharing("choco", {.dimension = 10, .lossless_codec = false}),
               std::invalid_argument);
}

// GN-LeNet's tensors, and the two of MovieLens's model: the sizes DivShare's own code cuts them to.
TEST(Fragments, HaveThePapersSizes) {
  const std::vector<std::uint32_t> lenet = {2'400, 32,     32, 32, 25'600, 32,     32,
                                            32,    51'200, 64, 64, 64,     10'240, 10};
  const std::vector<std::uint32_t> ratings = {610 * 20, 9'724 * 20};
  const auto sizes = [](const std::vector<std::uint32_t>& tensors, const char* spec) {
    std::uint32_t dimension = 0;
    for (const std::uint32_t length : tensors) dimension += length;
    std::vector<std::size_t> all;
    const auto sharing = make_sharing(spec, {.dimension = dimension, .tensors = tensors});
    for (const Share& share : sharing->pack(Vector(dimension), Random(1)))
      all.push_back(share.values.size());
    return all;
  };
  std::vector<std::size_t> ten(10, 8'981);
  ten.back() = 9'005;
  EXPECT_EQ(sizes(lenet, "fragments:fraction=0.1"), ten);
  EXPECT_EQ(sizes(lenet, "fragments:fraction=0.5"), std::vector<std::size_t>(2, 44'917));
  std::vector<std::size_t> twenty(20, 4'487);
  twenty.back() = 4'581;
  EXPECT_EQ(sizes(lenet, "fragments:fraction=0.05"), twenty);
  EXPECT_EQ(sizes(ratings, "fragments:fraction=0.1"), std::vector<std::size_t>(10, 20'668));
  EXPECT_EQ(sizes(lenet, "fragments:fraction=1"), std::vector<std::size_t>{89'834});
}

// docs/wire_format.md works this example out.
TEST(Fragments, FollowTheWrittenRule) {
  const FragmentLayout layout({.dimension = 8, .tensors = {5, 3}, .count = 2, .seed = 7});
  const auto fragment = [&](std::uint32_t id) {
    const auto indices = layout.fragment(id);
    return Indices(indices.begin(), indices.end());
  };
  EXPECT_EQ(fragment(0), (Indices{0, 1, 5}));
  EXPECT_EQ(fragment(1), (Indices{2, 3, 4, 6, 7}));
}

TEST(Fragments, ShareOneLayoutAndAverageWhatIsPresent) {
  const LayoutKey key{.dimension = 6, .count = 3, .seed = 1};
  const auto held = FragmentLayout::shared(key);
  EXPECT_EQ(FragmentLayout::shared(key), held);

  const auto sharing = make_sharing("fragments:fraction=0.34", {.dimension = 6});
  Vector model(6, 1.0f);
  std::vector<Share> fours = sharing->pack(Vector(6, 4.0f), Random(1));
  std::vector<Share> sevens = sharing->pack(Vector(6, 7.0f), Random(1));
  ASSERT_EQ(fours.size(), 2u);  // 1 / 0.34 is 2.9.
  Vector places(6);
  for (std::size_t k = 0; k < 6; ++k) places[k] = static_cast<float>(k);
  const Vector first = sharing->pack(places, Random(1)).front().values;
  for (Share* share : {&fours[0], &sevens[0], &fours[1]}) ASSERT_TRUE(admit(*sharing, *share).ok());
  const std::vector<Contribution> others = {{0, &fours[0]}, {0, &sevens[0]}, {0, &fours[1]}};
  sharing->merge(model, others);
  for (std::uint32_t k = 0; k < 6; ++k) {
    const bool in_first = std::count(first.begin(), first.end(), k) == 1;
    EXPECT_EQ(model[k], in_first ? 4.0f : 2.5f);
  }
}

TEST(Fragments, RefuseAnotherLayout) {
  const auto sharing = make_sharing("fragments:fraction=0.5", {.dimension = 10, .seed = 1});
  const auto refusal = [&](const char* spec, std::uint64_t seed) {
    Share share =
        make_sharing(spec, {.dimension = 10, .seed = seed})->pack(Vector(10), Random(1)).front();
    const auto admitted = admit(*sharing, share);
    return admitted.ok() ? "" : std::string(admitted.error().kind);
  };
  EXPECT_EQ(refusal("fragments:fraction=0.5", 1), "");
  EXPECT_EQ(refusal("fragments:fraction=0.5", 2), "layout");
  EXPECT_EQ(refusal("fragments:fraction=0.2", 1), "layout");
  EXPECT_EQ(refusal("full", 1), "coordinates");
}

// What is chosen, cut into ten: every coefficient once, pieces of like size, indices that cost
// little more than uncut ones, and the mean of the copies present when they are merged.
TEST(Jwins, TravelsInPieces) {
  const std::uint32_t dimension = 20'000;
  const SharingContext context{.dimension = dimension, .seed = 5};
  const auto whole = make_sharing("jwins:transform=none,budget=0.2", context);
  const auto cut = make_sharing("jwins:transform=none,budget=0.2,pieces=10", context);
  const Vector start(dimension), model = test_model(dimension, 3);
  for (Sharing* sharing : {whole.get(), cut.get()}) sharing->start(start);
  const std::vector<Share> uncut = whole->pack(model, Random(1));
  std::vector<Share> pieces = cut->pack(model, Random(1));
  ASSERT_EQ(pieces.size(), 10u);
  Indices all;
  double index_bytes = 0;
  Vector receiver(dimension, 0.0f), expected(dimension, 0.0f);
  std::vector<Contribution> others;
  for (std::uint32_t id = 0; id < 10; ++id) {
    const Indices& indices = std::get<Listed>(pieces[id].coordinates).indices;
    all.insert(all.end(), indices.begin(), indices.end());
    EXPECT_NEAR(static_cast<double>(indices.size()), 400, 80);
    index_bytes += gamma_bytes(indices, dimension);
    EXPECT_TRUE(admit(*cut, pieces[id]).ok());
    EXPECT_EQ(cut->piece_of(pieces[id]), id);
    for (std::size_t i = 0; i < indices.size(); ++i)
      expected[indices[i]] = pieces[id].values[i] / 2;
    others.push_back({0, &pieces[id]});
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, std::get<Listed>(uncut.front().coordinates).indices);
  EXPECT_LT(index_bytes, 1.25 * gamma_bytes(all, dimension));
  cut->merge(receiver, others);
  EXPECT_EQ(receiver, expected);

  Share mixed = uncut.front();
  EXPECT_EQ(admit(*cut, mixed).error().kind, "layout");
}

// Coordinate 7 moves by 1 in each of three trainings while 9, which moves by 10, is what is told.
// Whatever packs and merges came in between, the untold change of 7 is then 3: it is told before
// another's 2.5 and after another's 3.5.
TEST(TopK, CountsEachTrainingOnceHoweverPacksAndMergesAlternate) {
  for (const std::string order : {"pm", "p", "pmm", "m"}) {
    for (const float rival : {2.5f, 3.5f}) {
      const auto sharing = make_sharing("topk:budget=0.02,accumulate=training", {.dimension = 50});
      Vector model(50, 0.0f);
      sharing->start(model);
      const auto told = [&] {
        const Share share = sharing->pack(model, Random(1)).front();
        return std::get<Listed>(share.coordinates).indices.front();
      };
      for (int round = 0; round < 3; ++round) {
        model[7] += 1;
        model[9] += 10;
        for (const char step : order) {
          if (step == 'm') {
            sharing->merge(model, {});
          } else {
            EXPECT_EQ(told(), 9u) << order;
          }
        }
      }
      const bool never_told = order == "m";
      EXPECT_EQ(never_told ? told() : 9u, 9u);
      model[11] += rival;
      EXPECT_EQ(told(), rival < 3 ? 7u : 11u) << order;
    }
  }
}

}  // namespace
}  // namespace tessera
