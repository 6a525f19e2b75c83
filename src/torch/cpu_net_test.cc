// The hand-written nets against the reference under autograd: every model of the table they know,
// on odd and even images, whole and partial batches.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "learn/node_model.h"
#include "learn/testing.h"
#include "torch/reference_model.h"

namespace tessera {
namespace {

using testing::MadeUpData;
using testing::relative_gap;

constexpr std::size_t kBatchMax = 9;

void expect_agreement(const testing::Case& c, const Model& model, std::size_t batch_size) {
  const auto net = make_net(model, kBatchMax);
  const auto reference = make_reference_model(model);
  Vector flat = initial_parameters(model, Random(1));
  // Norms start at one and zero, where mistakes in their use would not show.
  const Vector noise = testing::normals(flat.size(), Random(2));
  for (std::size_t i = 0; i < flat.size(); ++i) flat[i] += 0.05f * noise[i];
  net->arrange(flat, net->parameters());
  reference->arrange(flat, reference->parameters());

  const MadeUpData data(c.task, batch_size, Random(3));
  const Batch batch = data.first(batch_size);
  EXPECT_NEAR(net->differentiate(batch), reference->differentiate(batch), 1e-5) << c.spec;
  Vector gradient(flat.size());
  net->restore(net->gradient(), gradient);
  for (const Parameter& parameter : model.parameters)
    EXPECT_LT(relative_gap(std::span(gradient).subspan(parameter.offset, parameter.size),
                           reference->gradient().subspan(parameter.offset, parameter.size)),
              5e-5)
        << c.spec << " " << parameter.name << " batch " << batch_size;
  Vector ours(batch_size * net->outputs()), theirs(ours.size());
  net->predict(batch, ours);
  reference->predict(batch, theirs);
  EXPECT_LT(relative_gap(ours, theirs), 1e-5) << c.spec;
}

TEST(HandWrittenNets, AgreesWithAutograd) {
  std::size_t known = 0;
  for (const testing::Case& c : testing::small_cases()) {
    const Model model = build_model(c.spec, c.task);
    if (!make_net(model, kBatchMax)) continue;
    ++known;
    // One net sees batches of different sizes in a row, so that nothing of the last one is left.
    for (const std::size_t batch : {8u, 3u, 9u, 1u}) expect_agreement(c, model, batch);
  }
  EXPECT_EQ(known, 7u);  // All but the residual net and the factorization.
}

TEST(HandWrittenNets, LeavesNothingBehindFromBatchToBatch) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  const Vector flat = initial_parameters(model, Random(1));
  const MadeUpData data(c.task, 8, Random(2)), other(c.task, 5, Random(3));
  const auto fresh = make_net(model, 8), used = make_net(model, 8);
  fresh->arrange(flat, fresh->parameters());
  used->arrange(flat, used->parameters());
  used->differentiate(other.first(5));
  EXPECT_EQ(used->differentiate(data.first(8)), fresh->differentiate(data.first(8)));
  EXPECT_TRUE(std::equal(used->gradient().begin(), used->gradient().end(),
                         fresh->gradient().begin(), fresh->gradient().end()));
}

TEST(HandWrittenNets, ArrangesAndRestores) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  const Vector flat = initial_parameters(model, Random(1));
  const auto net = make_net(model, 1);
  Vector working(flat.size()), back(flat.size());
  net->arrange(flat, working);
  EXPECT_NE(working, flat);
  net->restore(working, back);
  EXPECT_EQ(back, flat);
}

TEST(HandWrittenNets, PassesOnNotANumber) {
  const testing::Case c = testing::small_cases()[0];
  const Model model = build_model(c.spec, c.task);
  const auto net = make_net(model, 2);
  const MadeUpData data(c.task, 2, Random(2));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 1e38f}) {
    Vector flat = initial_parameters(model, Random(1));
    for (const std::size_t i : {0u, 1u}) flat[model.parameters[8].offset + i] = bad;
    net->arrange(flat, net->parameters());
    Vector out(2 * net->outputs());
    net->predict(data.first(2), out);
    EXPECT_FALSE(std::isfinite(out[0])) << bad;
    EXPECT_FALSE(std::isfinite(net->differentiate(data.first(2)))) << bad;
  }
}

}  // namespace
}  // namespace tessera
