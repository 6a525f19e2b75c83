// A sharing that is written in Python: a class with pack() and merge(), which tessera.Sharing
// describes. It gets copies, so that what it keeps stays what it was; slow, and safe.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "python/arrays.h"
#include "python/bindings.h"
#include "python/own_classes.h"
#include "sharing/average.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

namespace py = pybind11;

OwnClasses& classes() {
  static auto* const known = new OwnClasses();
  return *known;
}

class OwnSharing final : public Sharing {
 public:
  // With the GIL.
  OwnSharing(std::string name, std::uint32_t parameters)
      : name_(std::move(name)), own_(classes().make(name_)), dimension_(parameters) {}
  ~OwnSharing() override {
    const py::gil_scoped_acquire gil;
    own_ = py::object();
  }

  void start(std::span<const float> model) override {
    const py::gil_scoped_acquire gil;
    if (py::hasattr(own_, "start")) own_.attr("start")(array_of(model));
    if (py::hasattr(own_, "dimension")) dimension_ = own_.attr("dimension").cast<std::uint32_t>();
  }

  std::vector<Share> pack(std::span<const float> model, const Random& random) override {
    const py::gil_scoped_acquire gil;
    const py::object told =
        own_.attr("pack")(array_of(model), Random(random).fork("python").bits64());
    Share share{.dimension = dimension_};
    py::object values = told;
    if (py::isinstance<py::tuple>(told) && py::len(told) == 2) {
      const auto indices = indices_in(told[py::int_(0)], name_ + ": the indices of pack()");
      share.coordinates = Listed{{indices.begin(), indices.end()}};
      values = told[py::int_(1)];
    }
    const auto numbers = floats_in(values, name_ + ": the values of pack()");
    share.values.assign(numbers.begin(), numbers.end());
    refuse_invalid(share);
    return {std::move(share)};
  }

  Result<HeardShare> admit(HeardShare share) const override {
    return admit_for_averaging(std::move(share), dimension_);
  }

  void merge(std::span<float> model, std::span<const Contribution> others) override {
    const py::gil_scoped_acquire gil;
    py::list told;
    for (const Contribution& other : others) {
      const Indices* const indices = listed_in(other.share->coordinates);
      py::object where = py::none();
      if (indices) where = array_of(*indices);
      told.append(py::make_tuple(
          other.weight, where, array_of(std::span<const float>(other.share->values)), other.from));
    }
    py::array_t<float> copy = array_of(std::span<const float>(model));
    const py::object returned = own_.attr("merge")(copy, told);
    const auto merged = floats_in(returned.is_none() ? py::object(copy) : returned,
                                  name_ + ": what merge() returns");
    if (merged.size() != model.size())
      throw std::invalid_argument(fmt::format("{}: merge() returns {} values, and the model has {}",
                                              name_, merged.size(), model.size()));
    std::copy(merged.begin(), merged.end(), model.begin());
  }

  Vector told_of(std::span<const float> model, const Coordinates& coordinates) const override {
    if (dimension_ == model.size()) return Sharing::told_of(model, coordinates);
    throw std::invalid_argument(name_ +
                                " tells of another vector than the model: leave out the "
                                "attack, which cannot know what that would be of a lie");
  }

  void fields(Archive& archive) override {
    const py::gil_scoped_acquire gil;
    std::string state;
    const bool keeps = py::hasattr(own_, "state");
    if (!keeps && py::hasattr(own_, "__dict__") && py::len(own_.attr("__dict__")) > 0)
      throw std::invalid_argument(
          name_ + " remembers something: write state() and set_state() for checkpoints");
    if (!archive.loading() && keeps) state = own_.attr("state")().cast<std::string>();
    archive(state);
    if (archive.loading() && archive.ok().ok() && keeps) own_.attr("set_state")(py::bytes(state));
  }

 private:
  void refuse_invalid(const Share& share) const {
    const Indices* const indices = listed_in(share.coordinates);
    const std::size_t wanted = indices ? indices->size() : dimension_;
    if (share.values.size() != wanted)
      throw std::invalid_argument(fmt::format("{}: pack() gives {} values for {} coordinates",
                                              name_, share.values.size(), wanted));
    if (!is_valid(share))
      throw std::invalid_argument(fmt::format(
          "{}: the indices of pack() must increase strictly and stay below {}", name_, dimension_));
  }

  std::string name_;
  py::object own_;
  std::uint32_t dimension_;  // Of the vector that shares are of: the model, unless it says more.
};

std::unique_ptr<Sharing> make_own(Options& options, const SharingContext& context) {
  const py::gil_scoped_acquire gil;
  return std::make_unique<OwnSharing>(classes().require(options, "sharing"), context.dimension);
}

}  // namespace

void bind_own_sharing(py::module_& module) {
  register_sharing({.name = "python",
                    .usage = "python:class=NAME",
                    .summary = "a class written in Python",
                    .make = make_own,
                    .own_rule = true});
  module.def("register_sharing", [](const std::string& name, py::object make) {
    classes().add(name, std::move(make));
  });
}

}  // namespace tessera
