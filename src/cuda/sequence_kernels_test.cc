// Products, tables and ratings beside plain loops in double precision.
#include "cuda/sequence_kernels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cuda/for_tests.h"

namespace tessera::cuda {
namespace {

constexpr int kNodes = 3;

std::size_t whole(int count) {
  return static_cast<std::size_t>(count);
}

struct ProductCase {
  int rows = 0, columns = 0, terms = 0;
  bool a_turned = false, b_turned = false, biases = false;
  int period = 0;
};

// Both factors of every node, and what their product is.
struct Products {
  explicit Products(const ProductCase& chosen)
      : c(chosen),
        a(whole(kNodes * c.rows * c.terms), 1),
        b(whole(kNodes * c.terms * c.columns), 2),
        biases(whole(2 * kNodes * c.columns), 3),
        out(whole(kNodes * c.rows * c.columns), 4) {}

  double at_a(int node, int row, int term) const {
    const int inside = c.a_turned ? term * c.rows + row : row * c.terms + term;
    return double{a.host[whole(node * c.rows * c.terms + inside)]};
  }
  double at_b(int node, int term, int column) const {
    if (c.period > 0 && term % c.period == 0) return 0;
    const int from = c.period > 0 ? term - 1 : term;
    const int inside = c.b_turned ? from * c.columns + column : column * c.terms + from;
    return double{b.host[whole(node * c.terms * c.columns + inside)]};
  }
  Doubles wanted() const {
    Doubles sums;
    for (int node = 0; node < kNodes; ++node)
      for (int row = 0; row < c.rows; ++row)
        for (int column = 0; column < c.columns; ++column) {
          const float* const bias = &biases.host[whole(2 * node * c.columns + column)];
          double sum = c.biases ? double{bias[0]} + double{bias[c.columns]} : 0;
          for (int term = 0; term < c.terms; ++term)
            sum += at_a(node, row, term) * at_b(node, term, column);
          sums.push_back(sum);
        }
    return sums;
  }
  void run(Precision precision) const {
    const Pass pass{.nodes = kNodes, .precision = precision};
    Product product{
        .rows = c.rows,
        .columns = c.columns,
        .terms = c.terms,
        .a = {a.device(), whole(c.rows * c.terms), c.a_turned ? c.rows : c.terms, c.a_turned},
        .b = {b.device(), whole(c.terms * c.columns), c.b_turned ? c.columns : c.terms, c.b_turned,
              c.period},
        .bias_stride = whole(2 * c.columns),
        .out = out.device()};
    if (c.biases) {
      product.biases[0] = biases.device();
      product.biases[1] = biases.device() + c.columns;
    }
    multiply(pass, product);
  }

  ProductCase c;
  Numbers a, b, biases, out;
};

TEST(CudaProduct, IsThatOfPlainLoops) {
  SKIP_WITHOUT_GPU();
  for (const ProductCase& c :
       {ProductCase{.rows = 130, .columns = 128, .terms = 8, .biases = true},
        ProductCase{.rows = 35, .columns = 72, .terms = 100, .biases = true},
        ProductCase{.rows = 150, .columns = 8, .terms = 256, .b_turned = true},
        ProductCase{.rows = 7, .columns = 256, .terms = 64, .b_turned = true},
        ProductCase{.rows = 128, .columns = 8, .terms = 55, .a_turned = true, .b_turned = true},
        ProductCase{.rows = 256,
        .columns = 64,
        .terms = 90,
        .a_turned = true,
        .b_turned = true,
        .period = 9}}) {
    const Products products(c);
    const Doubles wanted = products.wanted();
    for (const auto precision : {Precision::kFp32, Precision::k3xTf32, Precision::kTf32}) {
      SCOPED_TRACE(
          fmt::format("{} x {} x {}, {}", c.rows, c.terms, c.columns, to_string(precision)));
      products.run(precision);
      EXPECT_LT(error_of(products.out.back(), wanted), precision == Precision::kTf32 ? 1e-3 : 2e-6);
    }
  }
}

// Whole numbers as samples have them: some rows many times, some never.
Numbers whole_numbers(std::size_t count, std::uint32_t below, std::uint64_t seed) {
  Numbers numbers(count, seed);
  Random random(seed);
  for (float& number : numbers.host) number = static_cast<float>(random.below(below));
  numbers.send();
  return numbers;
}

TEST(CudaTables, RowsAndTheirGradients) {
  SKIP_WITHOUT_GPU();
  const TableShape shape{.rows = 40, .width = 8, .numbers = 300};
  constexpr int kBatch = 5;
  const std::size_t size = whole(shape.rows * shape.width),
                    count = whole(kNodes * kBatch * shape.numbers);
  const Numbers table(kNodes * size, 1), out(count * whole(shape.width), 2),
      d_out(count * whole(shape.width), 3), d_table(kNodes * size, 4);
  const Numbers in = whole_numbers(count, 33, 5);
  const Pass pass{
      .nodes = kNodes, .batch = kBatch, .parameters = table.device(), .dimension = size};
  const Rows rows{.data = in.device(), .width = whole(shape.numbers)};
  look_up(pass, shape, rows, 0, out.device());
  look_up_gradient(pass, shape, rows, d_out.device(), d_table.device());
  const Vector got = out.back();
  Doubles gradient(kNodes * size);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t number = i / whole(shape.width),
                      node = number / whole(kBatch * shape.numbers);
    const std::size_t at = node * size +
                           static_cast<std::size_t>(in.host[number]) * whole(shape.width) +
                           i % whole(shape.width);
    ASSERT_EQ(got[i], table.host[at]);
    gradient[at] += double{d_out.host[i]};
  }
  EXPECT_LT(error_of(d_table.back(), gradient), 1e-6);
}

// Seven users and five items in batches of 40: every row several times.
struct Ratings {
  static constexpr int kBatch = 40, kWidth = 20, kUsers = 7, kItems = 5;
  static constexpr std::size_t kSize = (kUsers + kItems) * kWidth;

  Ratings() {
    for (std::size_t i = 0; i < samples.host.size(); i += 2)
      samples.host[i + 1] = std::fmod(samples.host[i + 1], float{kItems});
    samples.send();
  }
  Pass pass() const {
    return {.nodes = kNodes, .batch = kBatch, .parameters = factors.device(), .dimension = kSize};
  }
  Rows rows() const { return {.data = samples.device(), .width = 2}; }
  std::size_t user(std::size_t sample) const {
    return sample / kBatch * kSize + static_cast<std::size_t>(samples.host[2 * sample]) * kWidth;
  }
  std::size_t item(std::size_t sample) const {
    return sample / kBatch * kSize +
           (kUsers + static_cast<std::size_t>(samples.host[2 * sample + 1])) * kWidth;
  }

  RatingShape shape{.width = kWidth, .users = 0, .items = kUsers * kWidth};
  Numbers samples = whole_numbers(2 * kNodes * kBatch, kUsers, 1);
  Numbers factors{kNodes * kSize, 2}, out{kNodes * kBatch, 3}, d_out{kNodes * kBatch, 4},
      terms{2 * kNodes * kBatch * kWidth, 5}, d_factors{kNodes * kSize, 6};
  DeviceArray<std::uint32_t> touched{2 * kNodes * kBatch};
};

TEST(CudaRatings, OfUsersAndItemsThatOccurMoreThanOnce) {
  SKIP_WITHOUT_GPU();
  Ratings all;
  std::fill(all.d_factors.host.begin(), all.d_factors.host.end(), 0.0f);
  all.d_factors.send();
  const RatingGradients gradients{all.terms.device(), all.touched.data()};
  rate(all.pass(), all.shape, all.rows(), all.out.device());
  rate_gradient(all.pass(), all.shape, all.rows(), all.d_out.device(), gradients);
  gather_touched(all.pass(), all.shape, gradients, all.d_factors.device(), Ratings::kSize,
                 all.d_factors.device() + all.shape.items, Ratings::kSize);
  Doubles ratings(kNodes * Ratings::kBatch), gradient(all.factors.host.size());
  for (std::size_t sample = 0; sample < ratings.size(); ++sample)
    for (std::size_t k = 0; k < Ratings::kWidth; ++k) {
      const double p = double{all.factors.host[all.user(sample) + k]},
                   q = double{all.factors.host[all.item(sample) + k]};
      ratings[sample] += p * q;
      gradient[all.user(sample) + k] += double{all.d_out.host[sample]} * q;
      gradient[all.item(sample) + k] += double{all.d_out.host[sample]} * p;
    }
  EXPECT_LT(error_of(all.out.back(), ratings), 1e-6);
  EXPECT_LT(error_of(all.d_factors.back(), gradient), 1e-6);
  const DeviceArray<StepRates> rates(kNodes);
  const std::vector<StepRates> same(kNodes, {.lr = 0.25f});
  upload_now(rates.data(), same.data(), kNodes * sizeof(StepRates));
  descend_touched(all.pass(), all.shape, gradients, rates.data(), all.factors.device());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = double{all.factors.host[i]} - 0.25 * gradient[i];
  EXPECT_LT(error_of(all.factors.back(), gradient), 1e-6);
}

}  // namespace
}  // namespace tessera::cuda
