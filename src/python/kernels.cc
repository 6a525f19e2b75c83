// tessera.kernels: the functions on arrays that a round is made of.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/hash.h"
#include "codec/codec.h"
#include "math/select.h"
#include "math/wavelet.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "sharing/rule.h"

namespace tessera {
namespace {

namespace py = pybind11;

// The array that a result goes into: the caller's, which must have this size, or a new one.
py::object result_array(const py::object& given, std::size_t size) {
  if (given.is_none()) return new_floats(size);
  const std::size_t got = floats_to_change(given, "out").size();
  if (got != size)
    throw std::invalid_argument(fmt::format("out: {} values, and the result has {}", got, size));
  return given;
}

void refuse_overlap(std::span<const float> values, std::span<const float> out) {
  if (values.data() < out.data() + out.size() && out.data() < values.data() + values.size())
    throw std::invalid_argument("out: it shares memory with what is transformed");
}

py::object forward(const py::handle& array, std::string_view wavelet, int levels,
                   const py::object& out) {
  const auto values = floats_in(array, "values");
  const WaveletPlan plan = plan_wavelet(wavelet, levels, values.size());
  py::object coefficients = result_array(out, plan.coefficients());
  const auto target = floats_to_change(coefficients, "out");
  refuse_overlap(values, target);
  const py::gil_scoped_release without_gil;
  wavelet_forward(plan, values, target);
  return coefficients;
}

py::object inverse(const py::handle& array, std::size_t length, std::string_view wavelet,
                   int levels, const py::object& out) {
  const auto coefficients = floats_in(array, "coefficients");
  const WaveletPlan plan = plan_wavelet(wavelet, levels, length);
  if (coefficients.size() != plan.coefficients())
    throw std::invalid_argument(fmt::format("coefficients: {} of them, and {} values have {}",
                                            coefficients.size(), length, plan.coefficients()));
  py::object values = result_array(out, length);
  const auto target = floats_to_change(values, "out");
  refuse_overlap(coefficients, target);
  const py::gil_scoped_release without_gil;
  wavelet_inverse(plan, coefficients, target);
  return values;
}

py::array_t<std::uint32_t> select(const py::handle& array, std::size_t count) {
  const auto scores = floats_in(array, "scores");
  if (count > scores.size())
    throw std::invalid_argument(
        fmt::format("count: {} of {} scores cannot be chosen", count, scores.size()));
  Indices chosen;
  {
    const py::gil_scoped_release without_gil;
    select_largest(scores, count, chosen);
  }
  return array_of(std::move(chosen));
}

[[noreturn]] void refuse_auto() {
  throw std::invalid_argument("codec: name one; auto is chosen for each message, which says so");
}

const IndexCodec& index_codec(std::string_view name) {
  const Codec codec = parse_codec(fmt::format("{}+auto", name));
  if (!codec.indices) refuse_auto();
  return *codec.indices;
}

const ValueCodec& value_codec(std::string_view name) {
  const Codec codec = parse_codec(fmt::format("auto+{}", name));
  if (!codec.values) refuse_auto();
  return *codec.values;
}

// Memory that is kept from call to call: fresh pages would cost as much as the encoding.
Bytes& scratch() {
  thread_local Bytes bytes;
  bytes.clear();
  return bytes;
}

py::bytes put_indices(const py::handle& array, std::uint32_t dimension, std::string_view codec) {
  const IndexSet set{.indices = indices_in(array, "indices"), .dimension = dimension};
  if (!is_valid(set))
    throw std::invalid_argument(
        fmt::format("indices must increase strictly and stay below the dimension, {}", dimension));
  Bytes& out = scratch();
  index_codec(codec).encode(set, out);
  return python_bytes(out);
}

py::array_t<std::uint32_t> get_indices(std::string_view payload, std::uint32_t dimension,
                                       std::size_t count, std::string_view codec) {
  const IndexCodec& row = index_codec(codec);
  const ByteSpan bytes = bytes_in(payload);
  if (count > row.indices_max(bytes.size()))
    throw std::invalid_argument(
        fmt::format("payload: {} bytes of {} cannot hold {} indices", bytes.size(), codec, count));
  Indices indices(count);
  if (const auto decoded = row.decode(bytes, dimension, indices); !decoded)
    throw std::invalid_argument("payload: " + decoded.error().message);
  return array_of(std::move(indices));
}

py::bytes put_values(const py::handle& array, std::string_view codec, std::uint64_t seed) {
  Bytes& out = scratch();
  value_codec(codec).encode(floats_in(array, "values"), Random(seed), out);
  return python_bytes(out);
}

py::array_t<float> get_values(std::string_view payload, std::size_t count, std::string_view codec) {
  const ValueCodec& row = value_codec(codec);
  const ByteSpan bytes = bytes_in(payload);
  if (count > row.values_max(bytes.size()))
    throw std::invalid_argument(
        fmt::format("payload: {} bytes of {} cannot hold {} values", bytes.size(), codec, count));
  py::array_t<float> values = new_floats(count);
  if (const auto decoded = row.decode(bytes, inside(values)); !decoded)
    throw std::invalid_argument("payload: " + decoded.error().message);
  return values;
}

void average(const py::handle& array, const std::vector<py::object>& others,
             const std::vector<float>& weights, std::string_view rule) {
  const auto model = floats_to_change(array, "model");
  if (weights.size() != others.size())
    throw std::invalid_argument(
        fmt::format("weights: {} for {} others", weights.size(), others.size()));
  std::vector<Copy> copies;
  for (std::size_t i = 0; i < others.size(); ++i) {
    copies.push_back({.weight = weights[i], .values = floats_in(others[i], "others")});
    if (copies.back().values.size() != model.size())
      throw std::invalid_argument(fmt::format("others[{}] has {} values, the model {}", i,
                                              copies.back().values.size(), model.size()));
  }
  const auto chosen = make_rule(rule);
  if (!chosen) throw std::invalid_argument("rule: name one; auto is a sharing's own choice");
  const py::gil_scoped_release without_gil;
  chosen->average(model, copies);
}

// As Simulation::model_digest has it.
std::uint64_t digest(const std::vector<py::object>& models) {
  std::uint64_t all = 0;
  for (const py::object& model : models)
    all = hash_bytes(bytes_of(floats_in(model, "models")), all);
  return all;
}

}  // namespace

void bind_kernels(py::module_& module) {
  using namespace py::literals;
  module.def(
      "wavelet_forward", forward, "values"_a, "wavelet"_a = "sym2", "levels"_a = 4,
      "out"_a = py::none(),
      "The coefficients of pywt.wavedec with symmetric borders, one level after the other "
      "as pywt.coeffs_to_array has them; in `out` where it is given, which spares a new array.");
  module.def("wavelet_inverse", inverse, "coefficients"_a, "length"_a, "wavelet"_a = "sym2",
             "levels"_a = 4, "out"_a = py::none(),
             "The `length` values whose coefficients these are.");
  module.def("select_largest", select, "scores"_a, "count"_a,
             "The indices of the `count` largest magnitudes, increasing; of equal ones the first.");
  module.def("encode_indices", put_indices, "indices"_a, "dimension"_a, "codec"_a = "gamma",
             "Increasing indices below the dimension as bytes; `tessera list codecs`.");
  module.def("decode_indices", get_indices, "payload"_a, "dimension"_a, "count"_a,
             "codec"_a = "gamma", "What encode_indices wrote. ValueError for any other bytes.");
  module.def("encode_values", put_values, "values"_a, "codec"_a = "planes", "seed"_a = 0,
             "Values as bytes. Codecs that round at random take the seed.");
  module.def("decode_values", get_values, "payload"_a, "count"_a, "codec"_a = "planes",
             "What encode_values wrote, rounded where the codec rounds. ValueError for any other "
             "bytes.");
  module.def("digest", digest, "models"_a,
             "A number that two lists of models share if they are the same to the bit.");
  module.def("average", average, "model"_a, "others"_a, "weights"_a, "rule"_a = "gaps",
             "Changes the model in place: others count by their weights, which sum to less than "
             "one, and the rest is the model's own. `tessera list rules`.");
  module.def(
      "seen_at",
      [](const py::handle& array) {
        return reinterpret_cast<std::uintptr_t>(floats_in(array, "array").data());
      },
      "array"_a,
      "The address at which these functions see an array: its own, since nothing is copied.");
}

}  // namespace tessera
