// The domain a model's change is ranked in. A transform is linear and can be undone; JWINS uses
// wavelets, which pack a change that is spread over neighbouring parameters into few coefficients.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/spec.h"

namespace tessera {

class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::size_t coefficients() const = 0;
  virtual void forward(std::span<const float> values, std::span<float> coefficients) const = 0;
  virtual void inverse(std::span<const float> coefficients, std::span<float> values) const = 0;
};

struct TransformKind {
  std::string_view name{};
  std::string_view summary{};
  // Reads its own options of the sharing's spec.
  std::unique_ptr<Transform> (*make)(Options& options, std::size_t length) = nullptr;
};

std::span<const TransformKind> transforms();
std::unique_ptr<Transform> make_transform(std::string_view name, Options& options,
                                          std::size_t length);

}  // namespace tessera
