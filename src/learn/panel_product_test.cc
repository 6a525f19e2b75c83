#include "learn/panel_product.h"

#include <gtest/gtest.h>

#include "learn/testing.h"
#include "math/simd.h"

namespace tessera {
namespace {

using testing::normals;
using testing::relative_gap;

// Operands long enough for every shape below.
struct Operands {
  Vector a = normals(16'000, Random(1)), b = normals(300 * kPanel, Random(2));
  Vector start = normals(kPanel, Random(3)), out = normals(40 * 50, Random(4));
};

PanelProduct shape_of(const Operands& o, std::size_t rows, std::size_t count) {
  return {.rows = rows,
          .count = count,
          .a = o.a.data(),
          .a_panel = 1'500,
          .b = o.b.data(),
          .start = o.start.data(),
          .out_row = 50};
}

// Whole tiles and every part of one, sums of one stretch and of several, `a` as it is and turned,
// sums that start from a row and from what is there.
std::vector<PanelProduct> shapes(const Operands& o) {
  std::vector<PanelProduct> list = {shape_of(o, 37, 300), shape_of(o, 16, 8), shape_of(o, 8, 128)};
  for (std::size_t rows = 1; rows < 13; ++rows) list.push_back(shape_of(o, rows, 33));
  PanelProduct turned = shape_of(o, 24, 290);
  turned.a_turned = true;
  turned.a_panel = kPanel * kPanel;
  list.push_back(turned);
  turned.rows = 8;
  list.push_back(turned);
  return list;
}

Vector result_of(PanelProduct product, const Operands& o, bool add,
                 void (*run)(const PanelProduct&)) {
  Vector out = o.out;
  product.out = out.data();
  if (add) product.start = out.data(), product.start_row = product.out_row;
  run(product);
  return out;
}

TEST(PanelProduct, EqualsTheFormulaOnEveryTarget) {
  const Operands o;
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    for (const PanelProduct& product : shapes(o))
      for (const bool add : {false, true})
        EXPECT_LT(relative_gap(result_of(product, o, add, multiply),
                               result_of(product, o, add, plain::multiply)),
                  2e-6)
            << target << " rows " << product.rows << " count " << product.count;
  }
}

// Sums run in the order of k, whatever the width of a vector and wherever a stretch ends.
TEST(PanelProduct, HasTheSameBitsOnEveryTargetWithFusedMultiplyAdds) {
  const Operands o;
  std::vector<std::vector<Vector>> results;
  for (const std::string& target : simd_targets()) {
    if (!target.starts_with("AVX")) continue;
    const UseSimdTarget use(target);
    std::vector<Vector>& result = results.emplace_back();
    for (const PanelProduct& product : shapes(o))
      result.push_back(result_of(product, o, true, multiply));
  }
  for (const auto& result : results) EXPECT_EQ(result, results.front());
  if (results.size() < 2) GTEST_SKIP() << "this CPU has fewer than two such targets";
}

TEST(Transpose, EqualsTheFormulaOnEveryTarget) {
  const Vector from = normals(kPanel * kPanel, Random(1));
  Vector expected(from.size());
  plain::transpose(from.data(), expected.data());
  EXPECT_EQ(expected[5 * kPanel + 3], from[3 * kPanel + 5]);
  for (const std::string& target : simd_targets()) {
    const UseSimdTarget use(target);
    Vector to(from.size());
    transpose(from.data(), to.data());
    EXPECT_EQ(to, expected) << target;
  }
}

}  // namespace
}  // namespace tessera
