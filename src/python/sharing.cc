// What a node tells its peers, as an object with memory: for loops that bring their own transport.
#include <fmt/format.h>
#include <pybind11/stl.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "codec/codec.h"
#include "codec/wire.h"
#include "python/arrays.h"
#include "python/bindings.h"
#include "sharing/rule.h"
#include "sharing/sharing.h"

namespace tessera {
namespace {

namespace py = pybind11;

class PythonSharing {
 public:
  PythonSharing(std::string_view spec, const py::handle& initial,
                std::vector<std::uint32_t> tensors, std::string_view codec, std::string_view rule,
                std::uint64_t seed)
      : codec_(parse_codec(codec)), dimension_(floats_in(initial, "model").size()) {
    std::size_t sum = 0;
    for (const std::uint32_t size : tensors) sum += size;
    if (!tensors.empty() && sum != dimension_)
      throw std::invalid_argument(
          fmt::format("tensors: they have {} values together, the model {}", sum, dimension_));
    const Chosen<SharingKind> chosen = choose_sharing(spec);
    if (chosen.kind->fixed_peers_only && !chosen.kind->own_rule)
      throw std::invalid_argument(
          fmt::format("{}: it follows every neighbour by itself, and merge() is not told whose a "
                      "share is: use jwins, or choco, which needs only their sum",
                      chosen.kind->name));
    sharing_ = make_sharing(chosen, {.dimension = static_cast<std::uint32_t>(dimension_),
                                     .tensors = std::move(tensors),
                                     .seed = seed,
                                     .lossless_codec = !codec_.values || codec_.values->lossless,
                                     .rule = make_rule(rule)});
    sharing_->start(floats_in(initial, "model"));
  }

  std::vector<py::bytes> pack(const py::handle& array, std::uint64_t seed) {
    const auto model = of_this_size(floats_in(array, "model"));
    const Random random = Random(seed).fork("pack");
    std::vector<Encoded> messages;
    {
      const py::gil_scoped_release without_gil;
      std::uint64_t piece = 0;
      for (const Share& share : sharing_->pack(model, random))
        messages.push_back(encode({}, share, codec_, {}, random.fork("round", piece++)));
    }
    std::vector<py::bytes> shown;
    for (const Encoded& message : messages) shown.push_back(python_bytes(message.bytes));
    return shown;
  }

  void merge(const py::handle& array, const std::vector<std::pair<float, std::string>>& others) {
    const auto model = floats_to_change(array, "model");
    of_this_size(model);
    std::vector<HeardShare> shares;
    std::vector<Contribution> contributions;
    for (const auto& [weight, bytes] : others) shares.push_back(admitted(bytes));
    for (std::size_t i = 0; i < others.size(); ++i)
      contributions.push_back({.weight = others[i].first, .share = shares[i].get()});
    const py::gil_scoped_release without_gil;
    sharing_->merge(model, contributions);
  }

  py::bytes state() const {
    Bytes saved;
    save_fields(*sharing_, saved);
    return python_bytes(saved);
  }

  void set_state(std::string_view state) {
    ByteReader in(bytes_in(state));
    if (const Result<void> loaded = load_fields(*sharing_, in); !loaded || in.left() > 0)
      throw std::invalid_argument("state: it is not of a sharing like this one");
  }

 private:
  std::span<const float> of_this_size(std::span<const float> model) const {
    if (model.size() != dimension_)
      throw std::invalid_argument(fmt::format("model: {} values, and the sharing was made for {}",
                                              model.size(), dimension_));
    return model;
  }

  // Bytes from a peer: refused by name, never believed.
  HeardShare admitted(const std::string& bytes) const {
    Result<Message> message = decode(bytes_in(bytes));
    if (!message) throw std::invalid_argument("message: " + message.error().message);
    Result<HeardShare> share =
        sharing_->admit(std::make_shared<const Share>(std::move(message->share)));
    if (!share) throw std::invalid_argument("message: " + share.error().message);
    return *std::move(share);
  }

  Codec codec_;
  std::size_t dimension_;
  std::unique_ptr<Sharing> sharing_{};
};

}  // namespace

void bind_sharing(py::module_& module) {
  using namespace py::literals;
  py::class_<PythonSharing>(
      module, "Sharing",
      "What a node tells its peers by the line `sharing` of an experiment, with its memory. Made "
      "from the model that every node begins with; `tensors` says how many values each of its "
      "tensors has, for sharings that look at them.")
      .def(py::init<std::string_view, const py::handle&, std::vector<std::uint32_t>,
                    std::string_view, std::string_view, std::uint64_t>(),
           "spec"_a, "model"_a, "tensors"_a = std::vector<std::uint32_t>{},
           "codec"_a = "gamma+planes", "rule"_a = "auto", "seed"_a = 90)
      .def("pack", &PythonSharing::pack, "model"_a, "seed"_a,
           "The messages that tell of the model as it is now; most sharings have one.")
      .def("merge", &PythonSharing::merge, "model"_a, "others"_a,
           "Folds in messages of others, [(weight, bytes)] with weights that sum to less than one, "
           "in place. Every pack is followed by a merge, if need be of nothing. ValueError for a "
           "message that is damaged or of another model.")
      .def("state", &PythonSharing::state, "Its memory, for a checkpoint.")
      .def("set_state", &PythonSharing::set_state, "state"_a);
}

}  // namespace tessera
