// A look at the values a neighbour sent, before they are believed. Every share passes here once,
// whatever the codec, the sharing and the protocol, so that no other place needs to think of it.
//
// With |.| the length of a vector (its Euclidean norm), a share is refused
//
//   not-finite   where one of its values is NaN or infinite;
//   too-large    where |share| > kProportion (|own model| + sqrt(parameters)), or > kNormMax.
//
// Honest shares stay far below: models begin alike and averaging keeps them alike. The length of
// some coordinates is at most that of all; the transforms keep lengths, but for a few per cent at a
// wavelet's borders; CHOCO's difference is at most as long as the sender's model and its copy
// together; rounding adds a hundredth. sqrt(parameters) is the length of a model of ones, for
// models that begin at zero. What is left of the thousand is for a neighbour that has trained when
// we have not yet.
//
// A neighbour that stays below can still spoil a model, more each round: against that the averaging
// rules help. The look keeps what it does within what floats can hold.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace tessera {

inline constexpr double kProportion = 1000;
// No model that learns is as long. The squares of values up to here, and their sums, are finite in
// single precision, which rules that compare shares count on.
inline constexpr double kNormMax = 1e15;

struct OwnSize {
  double norm = 0;  // Of the whole model.
  std::size_t parameters = 0;
};

// The Euclidean norm: not finite where one of the values is not.
double norm_of(std::span<const float> values);
// The word for why a share whose values have this norm is not believed, or nothing.
std::string_view doubt(double norm, const OwnSize& own);

}  // namespace tessera
