// Welch's test: whether two small samples of unequal spread differ in their means, or chance would
// do it too (B. L. Welch, "The generalization of Student's problem", Biometrika 34, 1947).
#pragma once

#include <optional>
#include <span>

namespace tessera {

// How likely means at least this far apart are when there is no difference: between 0 and 1.
// Nothing for fewer than two values on either side, or when neither side varies at all.
std::optional<double> welch_p_value(std::span<const double> a, std::span<const double> b);

// The probability that Student's t with `degrees` of freedom is at least |t| away from zero.
double student_t_two_sided(double t, double degrees);

}  // namespace tessera
