// Result<T>: a value, or the Error that says why there is none. It is for what is expected to go
// wrong sometimes and must not stop a node: a peer's bytes, a file. Our own bugs are CHECKed; a bad
// flag throws std::invalid_argument before a run begins.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/check.h"

namespace tessera {

// `kind` is one word that counters and tests can tell apart ("truncated", "checksum"); `message` is
// for people and names the thing, the value and, where we can, the remedy.
struct Error {
  std::string_view kind{};  // Always a string literal.
  std::string message{};
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(const T& value) : held_(value) {}
  Result(T&& value) : held_(std::move(value)) {}
  Result(Error error) : held_(std::move(error)) {}

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return demand_value(), std::get<0>(held_); }
  const T& value() const& { return demand_value(), std::get<0>(held_); }
  T&& value() && { return demand_value(), std::get<0>(std::move(held_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    CHECK(!ok());
    return std::get<1>(held_);
  }

 private:
  void demand_value() const {
    if (!ok()) check::fail(__FILE__, __LINE__, "result.ok()", ": " + error().message);
  }
  std::variant<T, Error> held_;
};

// For actions that yield nothing: success, or why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : held_(std::move(error)) {}

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    CHECK(!ok());
    return std::get<1>(held_);
  }

 private:
  std::variant<std::monostate, Error> held_;
};

// Where nobody is left to go on without it: the value, or an exception with the error's message. A
// wrong flag or file of settings is or_throw<std::invalid_argument>.
template <typename Exception = std::runtime_error, typename T>
T or_throw(Result<T> result, std::string_view before = {}) {
  if (!result) throw Exception(std::string(before) + result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace tessera
