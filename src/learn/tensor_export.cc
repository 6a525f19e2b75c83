#include "learn/tensor_export.h"

#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "learn/tensor_files.h"

namespace tessera {
namespace {

struct TensorFormat {
  std::string_view extension{};
  Result<Bytes> (*write)(std::span<const NamedTensor> tensors) = nullptr;
};

class TensorExporter final : public Exporter {
 public:
  TensorExporter(TensorFormat format, const Model& model)
      : format_(format), parameters_(model.parameters), dimension_(model.dimension()) {}

  std::string_view extension() const override { return format_.extension; }

  Result<void> save(std::span<const float> flat, const std::filesystem::path& file) override {
    CHECK(flat.size() == dimension_);
    std::vector<NamedTensor> tensors;
    for (const Parameter& parameter : parameters_)
      tensors.push_back({.name = parameter.name,
                         .shape = parameter.shape,
                         .values = flat.subspan(parameter.offset, parameter.size)});
    const Result<Bytes> bytes = format_.write(tensors);
    if (!bytes) return bytes.error();
    return write_file(file, *bytes);
  }

 private:
  TensorFormat format_;
  std::vector<Parameter> parameters_;
  std::size_t dimension_;
};

}  // namespace

std::unique_ptr<Exporter> make_safetensors_exporter(const Model& model) {
  constexpr TensorFormat kFormat{.extension = "safetensors",
                                 .write = [](std::span<const NamedTensor> tensors) {
                                   return Result<Bytes>(to_safetensors(tensors));
                                 }};
  return std::make_unique<TensorExporter>(kFormat, model);
}

std::unique_ptr<Exporter> make_npz_exporter(const Model& model) {
  constexpr TensorFormat kFormat{.extension = "npz", .write = to_npz};
  return std::make_unique<TensorExporter>(kFormat, model);
}

}  // namespace tessera
