// The sums behind the averaging rules, on plain spans. Each function says its formula; every
// element is computed with separate multiplications and additions in the order written, so all CPUs
// give the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace tessera {

void add(std::span<float> x, std::span<const float> y);                  // x += y
void add_scaled(std::span<float> x, float a, std::span<const float> y);  // x += a y
void subtract(std::span<const float> a, std::span<const float> b,
              std::span<float> out);  // out = a - b

// sum[indices[i]] += values[i], ++copies[indices[i]]: what fragments add up to before
// divide_by_copies.
void add_at(std::span<float> sum, std::span<std::uint32_t> copies,
            std::span<const std::uint32_t> indices, std::span<const float> values);
void divide_by_copies(std::span<float> sum,
                      std::span<const std::uint32_t> copies);  // sum /= copies

// The sum of squares in double precision: finite for all finite values, and NaN or infinite where
// one is. Value i is added to sum i mod 16, and those are added up in order, so that the
// compiler may use whatever SIMD there is and the bits stay the same.
double squared_norm(std::span<const float> x);
// Infinite where it is no number. Summed in double precision, over eight lanes.
double squared_distance(std::span<const float> a, std::span<const float> b);

// The plain loops the fast versions are held to.
namespace plain {
void add(std::span<float> x, std::span<const float> y);
void add_scaled(std::span<float> x, float a, std::span<const float> y);
void subtract(std::span<const float> a, std::span<const float> b, std::span<float> out);
void divide_by_copies(std::span<float> sum, std::span<const std::uint32_t> copies);
}  // namespace plain

}  // namespace tessera
