// CHECK(a == b) stops the program when our own code broke a promise, and prints both values. It
// stays on in release builds: a wrong result costs more than a compare. What comes from outside
// (bytes, files, flags) is never checked this way: that is what Result and std::invalid_argument
// are for.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tessera::check {

template <typename T>
std::string show(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return fmt::format("{}", static_cast<long long>(value));
  } else if constexpr (fmt::is_formattable<T>::value) {
    return fmt::format("{}", value);
  } else {
    return "(a value that cannot be printed)";
  }
}

// Whole numbers are compared by value, so that CHECK(size > 0) means what it says whatever the
// signs of the types.
template <typename T>
inline constexpr bool kWhole =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

// The outcome of a condition, with its operands as text when it failed.
struct Outcome {
  bool holds = true;
  std::string operands{};
};

// Holds the left side of the comparison; `Split{} << a == b` parses as `(Split{} << a) == b`.
template <typename Left>
struct LeftSide {
  const Left& left;
  operator Outcome() const { return {static_cast<bool>(left), {}}; }

  template <typename Right>
  static Outcome outcome(bool holds, const Left& l, std::string_view sign, const Right& r) {
    if (holds) return {};
    return {false, fmt::format(" ({} {} {})", show(l), sign, show(r))};
  }
  template <typename R>
  Outcome operator==(const R& r) const {
    if constexpr (kWhole<Left> && kWhole<R>)
      return outcome(std::cmp_equal(left, r), left, "==", r);
    else
      return outcome(left == r, left, "==", r);
  }
  template <typename R>
  Outcome operator!=(const R& r) const {
    if constexpr (kWhole<Left> && kWhole<R>)
      return outcome(std::cmp_not_equal(left, r), left, "!=", r);
    else
      return outcome(left != r, left, "!=", r);
  }
  template <typename R>
  Outcome operator<(const R& r) const {
    if constexpr (kWhole<Left> && kWhole<R>)
      return outcome(std::cmp_less(left, r), left, "<", r);
    else
      return outcome(left < r, left, "<", r);
  }
  template <typename R>
  Outcome operator<=(const R& r) const {
    if constexpr (kWhole<Left> && kWhole<R>)
      return outcome(std::cmp_less_equal(left, r), left, "<=", r);
    else
      return outcome(left <= r, left, "<=", r);
  }
  template <typename R>
  Outcome operator>(const R& r) const {
    if constexpr (kWhole<Left> && kWhole<R>)
      return outcome(std::cmp_greater(left, r), left, ">", r);
    else
      return outcome(left > r, left, ">", r);
  }
  template <typename R>
  Outcome operator>=(const R& r) const {
    if constexpr (kWhole<Left> && kWhole<R>)
      return outcome(std::cmp_greater_equal(left, r), left, ">=", r);
    else
      return outcome(left >= r, left, ">=", r);
  }
};

struct Split {
  template <typename Left>
  LeftSide<Left> operator<<(const Left& left) const {
    return {left};
  }
};

[[noreturn]] void fail(const char* file, int line, const char* condition,
                       const std::string& operands);

}  // namespace tessera::check

#define CHECK(...)                                                                            \
  do {                                                                                        \
    const ::tessera::check::Outcome check_outcome = ::tessera::check::Split{} << __VA_ARGS__; \
    if (!check_outcome.holds) [[unlikely]]                                                    \
      ::tessera::check::fail(__FILE__, __LINE__, #__VA_ARGS__, check_outcome.operands);       \
  } while (false)
