// The CPU layers against the reference under autograd: every model of the table, on odd and even
// images, whole and partial batches.
#include <gtest/gtest.h>

#include "learn/cpu_net.h"
#include "learn/testing.h"
#include "torch/reference_model.h"

namespace tessera {
namespace {

using testing::MadeUpData;
using testing::relative_gap;

constexpr std::size_t kBatchMax = 9;

void expect_agreement(const testing::Case& c, const Model& model, std::size_t batch_size) {
  const auto net = make_cpu_net(model, kBatchMax);
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

TEST(CpuNet, AgreesWithAutograd) {
  for (const testing::Case& c : testing::small_cases()) {
    const Model model = build_model(c.spec, c.task);
    // One net sees batches of different sizes in a row, so that nothing of the last one is left.
    for (const std::size_t batch : {8u, 3u, 9u, 1u}) expect_agreement(c, model, batch);
  }
}

}  // namespace
}  // namespace tessera
