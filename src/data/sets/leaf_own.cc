#include "data/sets/leaf_own.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>

#include "data/loading.h"
#include "data/own_samples.h"
#include "data/sets/leaf_halves.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The samples of one folder. The extents of the first sample are those of all.
struct Gathered {
  OwnSamples samples{};
  std::optional<std::vector<std::uint32_t>> extents{};

  Result<void> add(const LeafUser& user, std::uint32_t number);

 private:
  Result<void> add_labels(const LeafUser& user);
};

Result<void> Gathered::add(const LeafUser& user, std::uint32_t number) {
  if (!user.texts.empty())
    return Error{"format",
                 fmt::format("{}: x is a text, and samples are numbers", leaf_place(user, 0))};
  if (!extents) extents = user.extents;
  if (user.extents != *extents)
    return Error{"shape",
                 fmt::format("{}: x has {} numbers where others have {}", leaf_place(user, 0),
                             fmt::join(user.extents, " x "), fmt::join(*extents, " x "))};
  samples.width = user.width;
  samples.floats.insert(samples.floats.end(), user.numbers.begin(), user.numbers.end());
  samples.users.insert(samples.users.end(), user.samples(), number);
  return add_labels(user);
}

Result<void> Gathered::add_labels(const LeafUser& user) {
  samples.labels.insert(samples.labels.end(), user.label_texts.begin(), user.label_texts.end());
  for (std::size_t i = 0; i < user.labels.size(); ++i) {
    const double label = user.labels[i];
    if (!(std::abs(label) < 1e15 && label == std::floor(label)))
      return Error{"label", fmt::format("{}: y is {}, and classes are whole numbers or texts",
                                        leaf_place(user, i), label)};
    samples.labels.push_back(fmt::format("{}", static_cast<std::int64_t>(label)));
  }
  return {};
}

Result<Gathered> gather(const fs::path& folder, const OwnOptions& wanted, LeafReader& reader) {
  Gathered gathered{.samples = {.place = folder}};
  const bool may_be_empty = !wanted.classes.empty() && !wanted.shape.empty();
  const Result<void> read = reader.read(
      folder, may_be_empty,
      [&](const LeafUser& user, std::uint32_t number) { return gathered.add(user, number); });
  if (!read) return read.error();
  return gathered;
}

// Brings the samples into the form asked for, and says which it is.
Result<SampleForm> arrange(Gathered& gathered, const OwnOptions& wanted) {
  SampleForm form{.shape = wanted.shape};
  if (gathered.extents) {
    Result<SampleForm> own = form_of(*gathered.extents, wanted);
    if (!own) return in_file(gathered.samples.place, own.error());
    form = std::move(*own);
  }
  gathered.samples.width = Task{.shape = form.shape}.features();
  channels_first(gathered.samples, form);
  return form;
}

Result<DecodedData> decode(const fs::path& dir, const OwnOptions& wanted) {
  if (const Result<void> there =
          require_folder(dir, "dir= names a folder of LEAF's .json files, or of train/ and test/");
      !there)
    return there.error();
  std::error_code error;
  LeafReader reader;
  const bool split = fs::is_directory(dir / "train", error);
  Result<Gathered> train = gather(split ? dir / "train" : dir, wanted, reader);
  if (!train) return train.error();
  Result<SampleForm> form = arrange(*train, wanted);
  if (!form) return form.error();
  std::optional<OwnSamples> test;
  const bool own_test = split && fs::is_directory(dir / "test", error);
  if (own_test || !wanted.test.path.empty()) {
    Result<Gathered> read =
        gather(wanted.test.path.empty() ? dir / "test" : wanted.test.path, wanted, reader);
    if (!read) return read.error();
    const Result<SampleForm> its = arrange(*read, wanted);
    if (!its) return its.error();
    if (its->shape != form->shape)
      return in_file(
          read->samples.place,
          {"shape", fmt::format("samples of {}, and of {} to train on", fmt::join(its->shape, "/"),
                                fmt::join(form->shape, "/"))});
    test = std::move(read->samples);
  }
  return own_set("leaf", std::move(form->shape), wanted, std::move(train->samples),
                 std::move(test));
}

}  // namespace

DataSource leaf_source(Options& options) {
  const fs::path dir = options.text("dir");
  const OwnOptions wanted = own_options_of_arrays(options);
  const Normalization scale = scale_option(options, "raw");
  options.done();
  std::vector<fs::path> folders{dir};
  if (!wanted.test.path.empty()) folders.push_back(wanted.test.path);
  return {std::move(folders), [=] {
            Result<DecodedData> data = decode(dir, wanted);
            if (data) data->scale = scale;
            return data;
          }};
}

}  // namespace tessera
