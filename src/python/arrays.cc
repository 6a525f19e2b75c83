#include "python/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace tessera {
namespace {

namespace py = pybind11;

[[noreturn]] void refuse_array(std::string_view what, std::string_view wanted,
                               const py::handle& got) {
  throw std::invalid_argument(
      fmt::format("{} must be a one-dimensional, contiguous numpy array of {}, and is {}", what,
                  wanted, std::string(py::str(py::type::of(got)))));
}

template <typename T>
py::array array_like(const py::handle& object, std::string_view what, std::string_view wanted) {
  if (!py::isinstance<py::array>(object)) refuse_array(what, wanted, object);
  auto array = py::reinterpret_borrow<py::array>(object);
  if (!py::isinstance<py::array_t<T>>(array) || array.ndim() != 1 ||
      (array.flags() & py::array::c_style) == 0)
    throw std::invalid_argument(fmt::format(
        "{} must be a one-dimensional, contiguous numpy array of {}, and has {} dimension(s) of {}",
        what, wanted, array.ndim(), std::string(py::str(array.dtype()))));
  return array;
}

template <typename T>
std::span<const T> span_in(const py::handle& object, std::string_view what,
                           std::string_view wanted) {
  const py::array array = array_like<T>(object, what, wanted);
  return {static_cast<const T*>(array.data()), static_cast<std::size_t>(array.size())};
}

}  // namespace

std::span<const float> floats_in(const py::handle& array, std::string_view what) {
  return span_in<float>(array, what, "float32");
}

std::span<float> floats_to_change(const py::handle& object, std::string_view what) {
  py::array array = array_like<float>(object, what, "float32");
  if (!array.writeable())
    throw std::invalid_argument(fmt::format("{} is changed in place, and is read-only", what));
  return {static_cast<float*>(array.mutable_data()), static_cast<std::size_t>(array.size())};
}

std::span<const std::uint32_t> indices_in(const py::handle& array, std::string_view what) {
  return span_in<std::uint32_t>(array, what, "uint32");
}

py::array_t<float> new_floats(std::size_t count) {
  return py::array_t<float>(static_cast<py::ssize_t>(count));
}

std::span<float> inside(py::array_t<float>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

py::array_t<std::uint32_t> array_of(Indices values) {
  auto kept = std::make_unique<Indices>(std::move(values));
  const py::capsule keeper(kept.get(), [](void* gone) { delete static_cast<Indices*>(gone); });
  const Indices& shown = *kept.release();
  return py::array_t<std::uint32_t>(static_cast<py::ssize_t>(shown.size()), shown.data(), keeper);
}

py::array_t<float> array_of(std::span<const float> values) {
  return py::array_t<float>(static_cast<py::ssize_t>(values.size()), values.data());
}

py::array_t<float> view_of(std::span<float> values, const py::object& keeper) {
  return py::array_t<float>(static_cast<py::ssize_t>(values.size()), values.data(), keeper);
}

py::array_t<float> view_of(std::span<const float> values, const py::object& keeper) {
  py::array_t<float> view(static_cast<py::ssize_t>(values.size()), values.data(), keeper);
  view.attr("flags").attr("writeable") = false;
  return view;
}

}  // namespace tessera
