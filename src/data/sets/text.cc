#include "data/sets/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/files.h"
#include "data/hold_out.h"
#include "data/loading.h"
#include "data/sets/leaf_sets.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytesMax = 2ull << 30;  // Of windows in memory.

struct TextOptions {
  fs::path file{};  // Or else a folder.
  fs::path dir{};
  Alphabet alphabet{};
  std::size_t length = 80, step = 1;
  bool leave_out = false;  // Characters that are not in the alphabet.
  HoldOut test{};
};

std::string name_of(unsigned char c) {
  return c > ' ' && c <= '~' && c != '/' ? std::string(1, static_cast<char>(c))
                                         : fmt::format("{:#04x}", c);
}

struct Half {
  ByteHalf samples{};
  std::size_t length = 0, step = 1;
};

Result<void> append_windows(std::span<const std::uint8_t> text, std::uint32_t user, Half& half) {
  for (std::size_t begin = 0; begin + half.length < text.size(); begin += half.step) {
    const std::span<const std::uint8_t> window = text.subspan(begin, half.length);
    half.samples.features.insert(half.samples.features.end(), window.begin(), window.end());
    half.samples.targets.push_back(static_cast<float>(text[begin + half.length]));
    half.samples.users.push_back(user);
    if (half.samples.features.size() > kBytesMax)
      return Error{"size", fmt::format("windows of {} characters are more than {} bytes: write a "
                                       "larger step=, which is {}",
                                       half.length, kBytesMax, half.step)};
  }
  return {};
}

// The files of a place, sorted by name. A folder may be empty: there is nothing else to learn from
// it, since the alphabet is given.
Result<std::vector<fs::path>> texts_of(const fs::path& place) {
  constexpr std::array<std::string_view, 1> kText = {".txt"};
  std::error_code error;
  if (fs::is_directory(place, error)) return files_in(place, kText);
  return std::vector<fs::path>{place};
}

class Reader {
 public:
  explicit Reader(const TextOptions& wanted) : wanted_(wanted) {
    for (Half* half : {&train, &test}) half->length = wanted.length, half->step = wanted.step;
  }

  // `fraction` of each file's end goes into the test half.
  Result<void> read(const fs::path& place, double fraction) {
    const Result<std::vector<fs::path>> files = texts_of(place);
    if (!files) return files.error();
    for (const fs::path& file : *files) {
      const auto next = static_cast<std::uint32_t>(users_.size());
      const std::uint32_t user = users_.try_emplace(file.filename().string(), next).first->second;
      const Result<std::string> text = read_text_file(file);
      if (!text) return text.error();
      const Result<std::vector<std::uint8_t>> numbers =
          wanted_.alphabet.numbers_of(*text, wanted_.leave_out);
      if (!numbers) return in_file(file, numbers.error());
      if (const Result<void> added = add(*numbers, user, fraction); !added)
        return in_file(file, added.error());
    }
    return {};
  }

  Half train{}, test{};

 private:
  Result<void> add(std::span<const std::uint8_t> text, std::uint32_t user, double fraction) {
    const auto held_out =
        static_cast<std::size_t>(fraction * static_cast<double>(text.size()) + 0.5);
    if (const Result<void> added = append_windows(text.first(text.size() - held_out), user, train);
        !added)
      return added;
    return append_windows(text.last(held_out), user, test);
  }

  const TextOptions& wanted_;
  std::map<std::string, std::uint32_t> users_{};  // By the names of their files.
};

Result<DecodedData> decode(const TextOptions& wanted) {
  const bool folder = wanted.file.empty();
  if (folder)
    if (const Result<void> there = require_folder(wanted.dir, "dir= names a folder of .txt files");
        !there)
      return there.error();
  Reader reader(wanted);
  const fs::path& place = folder ? wanted.dir : wanted.file;
  if (const Result<void> read = reader.read(place, wanted.test.fraction); !read)
    return read.error();
  if (!wanted.test.path.empty())
    if (const Result<void> read = reader.read(wanted.test.path, 1); !read) return read.error();
  if (!folder)
    for (Half* half : {&reader.train, &reader.test}) half->samples.users.clear();
  DecodedData data =
      image_data("text",
                 {.kind = Task::Kind::kTokens,
                  .shape = {static_cast<std::uint32_t>(wanted.length)},
                  .classes = wanted.alphabet.size(),
                  .vocabulary = wanted.alphabet.size()},
                 std::move(reader.train.samples), std::move(reader.test.samples), {});
  data.class_names = wanted.alphabet.names();
  return data;
}

TextOptions read_options(Options& options) {
  constexpr std::array<std::string_view, 2> kWords = {"refuse", "skip"};
  TextOptions read{
      .file = options.text("file", ""),
      .dir = options.text("dir", ""),
      .length = static_cast<std::size_t>(options.integer("length", 80, between(1, 1e6))),
      .step = static_cast<std::size_t>(options.integer("step", 1, between(1, 1e9))),
      .leave_out = options.choice("unknown", kWords, "refuse") == "skip",
      .test = hold_out_option(options)};
  if (read.file.empty() == read.dir.empty())
    options.refuse("file", "write file=FILE, or dir=FOLDER for the .txt files of a folder");
  const std::string alphabet = options.text("alphabet", "bytes");
  std::optional<Alphabet> found = named_alphabet(alphabet);
  if (!found) found = Alphabet::of(alphabet);
  if (!found)
    options.refuse("alphabet",
                   "write bytes, ascii, shakespeare, or two characters or more, each of them once");
  read.alphabet = *std::move(found);
  options.done();
  return read;
}

}  // namespace

void Alphabet::add(unsigned char c, std::uint32_t number) {
  numbers_[c] = static_cast<std::uint16_t>(number);
  if (names_.size() <= number) names_.resize(number + 1);
  names_[number] = name_of(c);
}

std::optional<Alphabet> Alphabet::of(std::string_view text) {
  Alphabet alphabet;
  if (text.size() < 2) return std::nullopt;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (alphabet.numbers_[byte] != kNone) return std::nullopt;
    alphabet.add(byte, alphabet.size());
  }
  return alphabet;
}

Result<std::vector<std::uint8_t>> Alphabet::numbers_of(std::string_view text,
                                                       bool leave_out) const {
  std::vector<std::uint8_t> numbers;
  numbers.reserve(text.size());
  std::size_t line = 1, begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (numbers_[byte] != kNone)
      numbers.push_back(static_cast<std::uint8_t>(numbers_[byte]));
    else if (!leave_out)
      return Error{"character",
                   fmt::format("line {}, byte {}: {:#04x} is not in the alphabet; alphabet=bytes "
                               "has all, and unknown=skip leaves it out",
                               line, i - begin + 1, byte)};
    if (byte == '\n') ++line, begin = i + 1;
  }
  return numbers;
}

std::optional<Alphabet> named_alphabet(std::string_view name) {
  Alphabet alphabet;
  if (name != "bytes" && name != "ascii" && name != "shakespeare") return std::nullopt;
  for (int c = 0; c < 256; ++c) {
    const auto byte = static_cast<unsigned char>(c);
    const bool prints = c == '\t' || c == '\n' || (c >= ' ' && c <= '~');
    if (name == "shakespeare") {
      if (const auto number = shakespeare_token(static_cast<char>(c))) alphabet.add(byte, *number);
    } else if (name == "bytes" || prints) {
      alphabet.add(byte, alphabet.size());
    }
  }
  // Two numbers of Shakespeare's belong to no character.
  for (std::size_t i = 0; i < alphabet.names_.size(); ++i)
    if (alphabet.names_[i].empty()) alphabet.names_[i] = fmt::format("unused{}", i);
  return alphabet;
}

// A text is read faster than its windows would be.
DataSource text_source(Options& options) {
  return {{}, [wanted = read_options(options)] { return decode(wanted); }};
}

}  // namespace tessera
