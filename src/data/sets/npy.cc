#include "data/sets/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "data/formats/npy.h"
#include "data/formats/zip.h"
#include "data/loading.h"
#include "data/own_samples.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Where an array lies: a file of its own, or one of an archive's.
struct Place {
  fs::path file{};
  std::string name{};  // Empty: the file is the array.
};

struct Half {
  Place x{}, y{};
};

struct ArrayOptions {
  std::string set{};
  Half train{};
  std::optional<Half> test{};
  OwnOptions own{};
  Normalization scale{};
};

Result<const ZipEntry*> find(const std::vector<ZipEntry>& entries, const std::string& name) {
  std::string names;
  for (const ZipEntry& entry : entries) {
    if (entry.name == name + ".npy") return &entry;
    const std::size_t stem = entry.name.rfind(".npy");
    names += (names.empty() ? "" : ", ") + entry.name.substr(0, stem);
  }
  return Error{"array", fmt::format("there is no array '{}' in it; there are: {}. Say x= and y=",
                                    name, printable(names))};
}

// A file that is asked for twice in a row is read once: x and y of an archive.
class Reader {
 public:
  // Lets `use` parse the array's bytes; errors name the file.
  template <typename T>
  Result<T> read(const Place& place, Result<T> (*use)(ByteSpan)) {
    Result<T> array = parse(place, use);
    if (array) return array;
    // read_file's own errors name the file already.
    if (file_ != place.file) return array.error();
    return in_file(file_, place.name.empty()
                              ? array.error()
                              : Error{array.error().kind,
                                      fmt::format("{}: {}", place.name, array.error().message)});
  }

 private:
  template <typename T>
  Result<T> parse(const Place& place, Result<T> (*use)(ByteSpan)) {
    if (file_ != place.file) {
      file_.clear();
      Result<Bytes> bytes = read_file(place.file);
      if (!bytes) return bytes.error();
      bytes_ = std::move(*bytes);
      file_ = place.file;
    }
    if (place.name.empty()) return use(bytes_);
    if (!is_zip(bytes_)) return Error{"zip", "this is no .npz archive; a lone array is data=npy"};
    const Result<std::vector<ZipEntry>> entries = list_zip(bytes_);
    if (!entries) return entries.error();
    const Result<const ZipEntry*> entry = find(*entries, place.name);
    if (!entry) return entry.error();
    Bytes room;
    const Result<ByteSpan> array = open_zipped(bytes_, **entry, room);
    if (!array) return array.error();
    return use(*array);
  }

  fs::path file_{};  // Whose bytes these are.
  Bytes bytes_{};
};

struct ReadHalf {
  OwnSamples samples{};
  SampleForm form{};
};

Result<ReadHalf> read_half(const Half& half, const OwnOptions& wanted, Reader& reader) {
  Result<NpyArray> x = reader.read(half.x, parse_npy);
  if (!x) return x.error();
  Result<std::vector<std::string>> y = reader.read(half.y, parse_npy_words);
  if (!y) return y.error();
  const std::span<const std::uint32_t> extents = std::span(x->extents).subspan(1);
  Result<SampleForm> form = form_of(extents, wanted);
  if (!form) return in_file(half.x.file, form.error());
  if (x->extents[0] != y->size())
    return in_file(half.x.file,
                   {"count", fmt::format("{} samples, and {} classes of samples in {}",
                                         x->extents[0], y->size(), half.y.file.string())});
  ReadHalf read{.samples = {.place = half.x.file,
                            .width = Task{.shape = form->shape}.features(),
                            .bytes = std::move(x->bytes),
                            .floats = std::move(x->floats),
                            .labels = std::move(*y)},
                .form = std::move(*form)};
  channels_first(read.samples, read.form);
  return read;
}

Result<DecodedData> decode(const ArrayOptions& wanted) {
  Reader reader;
  Result<ReadHalf> train = read_half(wanted.train, wanted.own, reader);
  if (!train) return train.error();
  std::optional<OwnSamples> test;
  if (wanted.test) {
    Result<ReadHalf> read = read_half(*wanted.test, wanted.own, reader);
    if (!read) return read.error();
    if (read->form.shape != train->form.shape)
      return in_file(wanted.test->x.file,
                     {"shape", "its samples have another shape than those to train on"});
    test = std::move(read->samples);
  }
  Result<DecodedData> data = own_set(wanted.set, std::move(train->form.shape), wanted.own,
                                     std::move(train->samples), std::move(test));
  if (data) data->scale = wanted.scale;
  return data;
}

// Decoded anew by every run, as a table is.
DataSource source(Options& options, ArrayOptions wanted) {
  options.done();
  return {{}, [wanted = std::move(wanted)] { return decode(wanted); }};
}

}  // namespace

DataSource npy_source(Options& options) {
  const fs::path file = options.text("file");
  const fs::path beside = fs::path(file).replace_filename("y.npy");
  ArrayOptions wanted{.set = "npy",
                      .train = {{file}, {options.text("labels", beside.string())}},
                      .own = own_options_of_arrays(options),
                      .scale = scale_option(options, "raw")};
  const std::string labels = options.text("test_labels", "");
  if (wanted.own.test.path.empty() != labels.empty())
    options.refuse("test_labels",
                   "goes with test=x_test.npy: the one names classes, the other "
                   "samples");
  if (!labels.empty()) wanted.test = Half{{wanted.own.test.path}, {labels}};
  return source(options, std::move(wanted));
}

DataSource npz_source(Options& options) {
  const fs::path file = options.text("file");
  const std::string x = options.text("x", "x"), y = options.text("y", "y");
  ArrayOptions wanted{.set = "npz",
                      .train = {{file, x}, {file, y}},
                      .own = own_options_of_arrays(options),
                      .scale = scale_option(options, "raw")};
  const bool named = options.has("test_x") || options.has("test_y");
  if (named && options.has("test") && wanted.own.test.path.empty())
    options.refuse("test", "a fraction is held out, or test_x= and test_y= name arrays; not both");
  const fs::path test = wanted.own.test.path.empty() ? file : wanted.own.test.path;
  if (named || !wanted.own.test.path.empty())
    wanted.test = Half{{test, options.text("test_x", x)}, {test, options.text("test_y", y)}};
  return source(options, std::move(wanted));
}

}  // namespace tessera
