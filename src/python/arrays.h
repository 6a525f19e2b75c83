// Python's arrays as spans, without a copy: numpy's, and whatever numpy can see as one (a CPU
// tensor of torch by its numpy(), or numpy.from_dlpack()). Another type or layout is refused, since
// converting it would be a copy nobody asked for.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"

namespace tessera {

// `what` names the argument in the message. Throw std::invalid_argument.
std::span<const float> floats_in(const pybind11::handle& array, std::string_view what);
std::span<float> floats_to_change(const pybind11::handle& array, std::string_view what);
std::span<const std::uint32_t> indices_in(const pybind11::handle& array, std::string_view what);

pybind11::array_t<float> new_floats(std::size_t count);
std::span<float> inside(pybind11::array_t<float>& array);
pybind11::array_t<std::uint32_t> array_of(Indices values);  // Without a copy.
pybind11::array_t<float> array_of(std::span<const float> values);
// Somebody else's memory as an array, for as long as they keep it.
pybind11::array_t<float> view_of(std::span<float> values, const pybind11::object& keeper);
pybind11::array_t<float> view_of(std::span<const float> values, const pybind11::object& keeper);

inline pybind11::bytes python_bytes(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline ByteSpan bytes_in(std::string_view python) {
  return {reinterpret_cast<const std::byte*>(python.data()), python.size()};
}

}  // namespace tessera
