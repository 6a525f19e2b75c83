#include "report/welch.h"

#include <cmath>

#include "base/check.h"

namespace tessera {
namespace {

struct Moments {
  double mean = 0, variance = 0;  // The variance of the mean.
};

Moments moments_of(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  Moments moments;
  for (const double v : values) moments.mean += v / n;
  for (const double v : values)
    moments.variance += (v - moments.mean) * (v - moments.mean) / (n - 1) / n;
  return moments;
}

// The continued fraction of the incomplete beta function, by Lentz's method. Its factors approach
// one; a few dozen are enough wherever `incomplete_beta` calls it.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return fraction;
}

// I_x(a, b), the regularized incomplete beta function.
double incomplete_beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side of the mean; the other side is its mirror.
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_t_two_sided(double t, double degrees) {
  CHECK(degrees > 0);
  return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

std::optional<double> welch_p_value(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const Moments first = moments_of(a), second = moments_of(b);
  const double variance = first.variance + second.variance;
  if (!(variance > 0)) return std::nullopt;
  const double t = (first.mean - second.mean) / std::sqrt(variance);
  const double degrees = variance * variance /
                         (first.variance * first.variance / static_cast<double>(a.size() - 1) +
                          second.variance * second.variance / static_cast<double>(b.size() - 1));
  return student_t_two_sided(t, degrees);
}

}  // namespace tessera
