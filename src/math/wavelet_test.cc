#include "math/wavelet.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/bytes.h"
#include "base/files.h"
#include "base/ids.h"
#include "base/random.h"
#include "math/simd.h"

namespace tessera {
namespace {

struct Case {
  std::string filter{};
  int levels = 0;
  std::size_t length = 0;
};

std::string to_text(const Case& c) {
  return fmt::format("{} {} {}", c.filter, c.levels, c.length);
}

// Numbers of [-1, 1) that Python and C++ compute exactly alike.
Vector vector_of(std::size_t length) {
  Vector x(length);
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t mixed = ((i + 1) * 2654435761ull + length * 40503ull) & 0xffffffff;
    x[i] = static_cast<float>(static_cast<double>(mixed >> 8) / 8388608.0 - 1.0);
  }
  return x;
}

Vector forward(const WaveletPlan& plan, const Vector& x) {
  Vector coefficients(plan.coefficients());
  wavelet_forward(plan, x, coefficients);
  return coefficients;
}

Vector inverse(const WaveletPlan& plan, const Vector& coefficients) {
  Vector x(plan.length());
  wavelet_inverse(plan, coefficients, x);
  return x;
}

float largest(const Vector& x) {
  float most = 0;
  for (const float v : x) most = std::max(most, std::abs(v));
  return most;
}

// Each level multiplies F values by filter taps and adds them up, here and in PyWavelets, each
// rounding by at most half a unit in the last place; the sum of |taps| is below 2 a level.
float rounding(const WaveletPlan& plan, const Vector& x) {
  const auto operations =
      static_cast<float>(2 * plan.filter->lo.size() * static_cast<std::size_t>(plan.levels()));
  return operations * 0x1p-24f * std::max(largest(x), 1e-30f);
}

void expect_near(const Vector& a, const Vector& b, float tolerance, const Case& c) {
  ASSERT_EQ(a.size(), b.size()) << to_text(c);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance) << to_text(c) << " at " << i;
}

// The example of the PyWavelets documentation: db2, one level.
TEST(Wavelet, MatchesThePublishedVector) {
  const WaveletPlan plan = plan_wavelet("db2", 1, 8);
  const Vector x = {3, 7, 1, 1, -2, 5, 4, 6};
  const Vector expected = {5.65685425f,  7.39923721f,  0.22414387f,  3.33677403f,  7.77817459f,
                           -2.44948974f, -1.60368225f, -4.44140056f, -0.41361256f, 1.22474487f};
  expect_near(forward(plan, x), expected, 2e-6f, {"db2", 1, 8});
  expect_near(inverse(plan, expected), x, 4e-6f, {"db2", 1, 8});
}

// Parameters and coefficients of the five models both papers use, sym2 and four levels.
TEST(Wavelet, CountsTheCoefficientsOfTheFiveModels) {
  const auto count = [](std::size_t length) {
    return plan_wavelet("sym2", 4, length).coefficients();
  };
  EXPECT_EQ(count(89834), 89843u);
  EXPECT_EQ(count(206680), 206690u);
  EXPECT_EQ(count(2683708), 2683718u);
  EXPECT_EQ(count(30242), 30250u);
  EXPECT_EQ(count(1690046), 1690055u);
  EXPECT_EQ(plan_wavelet("sym2", 4, 89834).lengths,
            (std::vector<std::size_t>{89834, 44918, 22460, 11231, 5617}));
}

std::vector<Case> oracle_cases() {
  std::vector<Case> cases;
  for (const WaveletFilter& filter : wavelet_filters()) {
    const std::string name(filter.name);
    for (std::size_t length = 1; length <= 300; ++length)
      for (const int levels : {1, 2, 4}) cases.push_back({name, levels, length});
    cases.push_back({name, 9, 7});
    cases.push_back({name, 6, 5001});
  }
  for (const std::size_t length : {89834u, 206680u, 2683708u, 30242u, 1690046u})
    cases.push_back({"sym2", 4, length});
  Random random(20231107);
  for (int i = 0; i < 4; ++i) {
    const auto& filter = wavelet_filters()[random.below(wavelet_filters().size())];
    cases.push_back({std::string(filter.name), static_cast<int>(1 + random.below(8)),
                     1 + random.below(5'000'000)});
  }
  return cases;
}

// Every case goes to one Python process; its answers come back through a file.
TEST(Wavelet, EqualsPyWavelets) {
  const std::filesystem::path folder = testing::TempDir();
  const auto questions = folder / fmt::format("wavelet_questions_{}", ::getpid());
  const auto answers = folder / fmt::format("wavelet_answers_{}", ::getpid());
  const std::vector<Case> cases = oracle_cases();
  {
    std::ofstream out(questions);
    for (const Case& c : cases) out << to_text(c) << "\n";
  }
  bool asked = false;
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::string command =
        fmt::format("{} {}/src/math/wavelet_oracle.py {} < {} 2> /dev/null", python,
                    TESSERA_SOURCE_DIR, answers.string(), questions.string());
    asked = asked || std::system(command.c_str()) == 0;
  }
  std::filesystem::remove(questions);
  if (!asked) GTEST_SKIP() << "PyWavelets is missing: install python3-pywt to compare with it";
  const Bytes bytes = *read_file(answers);
  std::filesystem::remove(answers);
  ByteReader in(bytes);
  const auto read = [&](std::size_t count) {
    Vector values(count);
    for (float& v : values) v = in.get<float>();
    return values;
  };
  for (const Case& c : cases) {
    const WaveletPlan plan = plan_wavelet(c.filter, c.levels, c.length);
    const Vector x = vector_of(c.length);
    ASSERT_EQ(in.get<std::uint32_t>(), plan.coefficients()) << to_text(c);
    const Vector coefficients = read(plan.coefficients());
    const Vector back = read(c.length);
    expect_near(forward(plan, x), coefficients, rounding(plan, coefficients), c);
    expect_near(inverse(plan, coefficients), back, rounding(plan, coefficients), c);
  }
  EXPECT_FALSE(in.ran_short());
  EXPECT_EQ(in.left(), 0u);
}

TEST(Wavelet, InverseReturnsTheInput) {
  for (const WaveletFilter& filter : wavelet_filters()) {
    for (std::size_t length = 1; length <= 130; ++length) {
      for (const int levels : {1, 3, 4, 7}) {
        const WaveletPlan plan = plan_wavelet(filter.name, levels, length);
        const Vector x = vector_of(length);
        const Vector c = forward(plan, x);
        expect_near(inverse(plan, c), x, rounding(plan, c),
                    {std::string(filter.name), levels, length});
      }
    }
  }
}

// The fast version equals the formulas bit for bit, on each set of instructions this CPU has.
TEST(Wavelet, EveryTargetGivesTheSameBits) {
  for (const WaveletFilter& filter : wavelet_filters()) {
    for (const std::size_t length : {1u, 2u, 3u, 7u, 16u, 33u, 100u, 257u, 4099u, 89834u}) {
      const WaveletPlan plan = plan_wavelet(filter.name, 4, length);
      const Vector x = vector_of(length);
      Vector c(plan.coefficients()), back(length);
      plain::wavelet_forward(plan, x, c);
      plain::wavelet_inverse(plan, c, back);
      for (const std::string& target : simd_targets()) {
        const UseSimdTarget forced(target);
        EXPECT_EQ(forward(plan, x), c) << target << " " << filter.name << " " << length;
        EXPECT_EQ(inverse(plan, c), back) << target << " " << filter.name << " " << length;
      }
    }
  }
}

TEST(Wavelet, RefusesWhatHasNoTransform) {
  EXPECT_THROW((void)plan_wavelet("sym2", 0, 10), std::invalid_argument);
  EXPECT_THROW((void)plan_wavelet("sym2", kWaveletLevelsMax + 1, 10), std::invalid_argument);
  EXPECT_THROW((void)plan_wavelet("sym2", 4, 0), std::invalid_argument);
  EXPECT_THROW((void)plan_wavelet("sym22", 4, 10), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
