#include "data/formats/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>

#include "data/loading.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kHeaderBytesMax = 64 * 1024;
constexpr std::size_t kExtentsMax = 8;
constexpr std::uint64_t kExtentMax = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kBytesMax = 1ull << 50;  // More than any file; sums cannot overflow.
constexpr std::size_t kTextMax = 1024;           // Characters of a text.

// The few literals a header is made of. What does not fit leaves nothing.
class Literals {
 public:
  explicit Literals(std::string_view text) : text_(text) {}

  bool take(char wanted) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    return ++at_, true;
  }
  bool take(std::string_view wanted) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    return at_ += wanted.size(), true;
  }
  std::optional<std::string_view> text() {
    for (const char quote : {'\'', '"'}) {
      if (!take(quote)) continue;
      const std::size_t end = text_.find(quote, at_);
      if (end == text_.npos) return std::nullopt;
      const std::string_view inside = text_.substr(at_, end - at_);
      at_ = end + 1;
      return inside;
    }
    return std::nullopt;
  }
  std::optional<bool> truth() {
    if (take("True")) return true;
    if (take("False")) return false;
    return std::nullopt;
  }
  std::optional<std::vector<std::uint64_t>> tuple() {
    if (!take('(')) return std::nullopt;
    std::vector<std::uint64_t> numbers;
    while (!take(')')) {
      std::uint64_t number = 0;
      skip_spaces();
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
      if (error != std::errc()) return std::nullopt;
      at_ += static_cast<std::size_t>(end - begin);
      numbers.push_back(number);
      if (!take(',') && !(at_ < text_.size() && text_[at_] == ')')) return std::nullopt;
    }
    return numbers;
  }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  std::size_t at() const { return at_; }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

struct Dictionary {
  std::string_view type{};
  std::optional<bool> fortran_order{};
  std::optional<std::vector<std::uint64_t>> shape{};
};

Error no_dictionary(std::size_t byte) {
  return {"npy", fmt::format("byte {}: the header is not 'descr', 'fortran_order' and 'shape' as "
                             "NumPy writes them",
                             byte)};
}

Result<Dictionary> read_dictionary(std::string_view text, std::size_t begin) {
  Literals literals(text);
  Dictionary read;
  bool fits = literals.take('{');
  while (fits && !literals.take('}')) {
    const std::optional<std::string_view> key = literals.text();
    fits = key && literals.take(':');
    if (!fits) break;
    if (*key == "descr") {
      if (literals.take('['))
        return Error{"npy", "a structured array; save its fields as arrays of their own"};
      const std::optional<std::string_view> type = literals.text();
      fits = type.has_value();
      read.type = type.value_or("");
    } else if (*key == "fortran_order") {
      fits = (read.fortran_order = literals.truth()).has_value();
    } else if (*key == "shape") {
      fits = (read.shape = literals.tuple()).has_value();
    } else {
      fits = false;
    }
    (void)literals.take(',');
  }
  if (!fits || !literals.at_end() || read.type.empty() || !read.fortran_order || !read.shape)
    return no_dictionary(begin + literals.at());
  return read;
}

Error not_read(std::string_view type, std::string_view what) {
  return {"type", fmt::format("values of type '{}' ({}) are not read; whole numbers, floats of up "
                              "to 8 bytes, truth values and texts are",
                              printable(type), what)};
}

// "<f4": the order of bytes, the kind, and the bytes of a value (of a text: its characters).
Result<void> read_type(std::string_view type, NpyHeader& header) {
  const std::string_view whole = type;
  const char order = type.front();
  const bool ordered = std::string_view("<>|=").find(order) != std::string_view::npos;
  if (ordered) type.remove_prefix(1);
  header.swapped = order == '>';
  header.kind = type.empty() ? '\0' : type.front();
  if (header.kind == 'O')
    return Error{"type",
                 "an array of objects: that is a pickle, which could run anything and is never "
                 "opened; save numbers, as with x.astype('float32')"};
  if (header.kind == 'c') return not_read(whole, "complex numbers");
  if (header.kind == 'M' || header.kind == 'm') return not_read(whole, "times");
  std::uint32_t size = 0;
  const char* const end = type.data() + type.size();
  const auto [stop, error] = std::from_chars(type.data() + !type.empty(), end, size);
  const bool sized = !type.empty() && error == std::errc() && stop == end;
  const auto among = [&](std::initializer_list<std::uint32_t> sizes) {
    return sized && std::find(sizes.begin(), sizes.end(), size) != sizes.end();
  };
  const bool known =
      header.kind == 'b'   ? among({1})
      : header.kind == 'f' ? among({2, 4, 8})
      : header.kind == 'i' || header.kind == 'u'
          ? among({1, 2, 4, 8})
          : (header.kind == 'U' || header.kind == 'S') && sized && size > 0 && size <= kTextMax;
  if (!known) return not_read(whole, "as NumPy calls it");
  header.item_bytes = header.kind == 'U' ? 4 * std::size_t{size} : size;
  return {};
}

Result<void> read_shape(const std::vector<std::uint64_t>& extents, NpyHeader& header) {
  if (extents.empty()) return Error{"shape", "a single value, not an array of samples"};
  if (extents.size() > kExtentsMax)
    return Error{"shape", fmt::format("{} dimensions; arrays of samples have 5 at most, counting "
                                      "the samples",
                                      extents.size())};
  std::uint64_t values = 1, bytes = 0;
  bool overflow = false;
  for (const std::uint64_t extent : extents) {
    overflow |= extent > kExtentMax;
    overflow |= __builtin_mul_overflow(values, std::max<std::uint64_t>(extent, 1), &values);
  }
  overflow |= __builtin_mul_overflow(values, header.item_bytes, &bytes) || bytes > kBytesMax;
  if (overflow || values > kBytesMax)
    return Error{"shape", fmt::format("the header announces ({}) values, more than any file holds",
                                      fmt::join(extents, ", "))};
  header.extents = extents;
  const bool empty = std::find(extents.begin(), extents.end(), 0u) != extents.end();
  header.values = empty ? 0 : values;
  return {};
}

template <typename T>
T load(const std::byte* at, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes{};
  std::memcpy(bytes.data(), at, sizeof(T));
  if (swapped) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

// IEEE's 16 bits: a sign, 5 bits of exponent, 10 of fraction.
float load_half(const std::byte* at, bool swapped) {
  const auto bits = load<std::uint16_t>(at, swapped);
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023);
  float size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) size = std::numeric_limits<float>::infinity();
  return bits >> 15 ? -size : size;
}

// Calls use(place of a value) for all, with the last index running fastest.
template <typename Use>
void in_c_order(const NpyHeader& header, ByteSpan file, Use use) {
  const std::byte* const begin = file.data() + header.begin;
  if (!header.fortran_order) {
    for (std::uint64_t i = 0; i < header.values; ++i) use(begin + i * header.item_bytes);
    return;
  }
  const std::size_t dimensions = header.extents.size();
  std::vector<std::uint64_t> strides(dimensions, 1), index(dimensions, 0);
  for (std::size_t d = 1; d < dimensions; ++d) strides[d] = strides[d - 1] * header.extents[d - 1];
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < header.values; ++i) {
    use(begin + at * header.item_bytes);
    for (std::size_t d = dimensions; d-- > 0;) {
      at += strides[d];
      if (++index[d] < header.extents[d]) break;
      at -= strides[d] * header.extents[d];
      index[d] = 0;
    }
  }
}

template <typename T>
void load_all(const NpyHeader& header, ByteSpan file, std::vector<float>& out) {
  in_c_order(header, file, [&](const std::byte* at) {
    out.push_back(static_cast<float>(load<T>(at, header.swapped)));
  });
}

void load_floats(const NpyHeader& header, ByteSpan file, std::vector<float>& out) {
  out.reserve(header.values);
  const std::size_t size = header.item_bytes;
  if (header.kind == 'f') {
    if (size == 4) return load_all<float>(header, file, out);
    if (size == 8) return load_all<double>(header, file, out);
    return in_c_order(header, file,
                      [&](const std::byte* at) { out.push_back(load_half(at, header.swapped)); });
  }
  if (header.kind == 'i') {
    if (size == 1) return load_all<std::int8_t>(header, file, out);
    if (size == 2) return load_all<std::int16_t>(header, file, out);
    if (size == 4) return load_all<std::int32_t>(header, file, out);
    return load_all<std::int64_t>(header, file, out);
  }
  if (size == 2) return load_all<std::uint16_t>(header, file, out);
  if (size == 4) return load_all<std::uint32_t>(header, file, out);
  return load_all<std::uint64_t>(header, file, out);
}

std::string utf8(std::uint32_t c) {
  std::string text;
  const auto rest = [&](int shift) { text += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return text += static_cast<char>(0xc0 | c >> 6), rest(0), text;
  if (c < 0x10000) return text += static_cast<char>(0xe0 | c >> 12), rest(6), rest(0), text;
  return text += static_cast<char>(0xf0 | (c >> 18 & 7)), rest(12), rest(6), rest(0), text;
}

// Texts are filled up with zeros.
std::string text_at(const NpyHeader& header, const std::byte* at) {
  std::string text;
  const std::size_t step = header.kind == 'U' ? 4 : 1;
  for (std::size_t i = 0; i < header.item_bytes; i += step) {
    const std::uint32_t c = step == 4 ? load<std::uint32_t>(at + i, header.swapped)
                                      : std::to_integer<std::uint32_t>(at[i]);
    if (c == 0) break;
    text += step == 4 ? utf8(c) : std::string(1, static_cast<char>(c));
  }
  return text;
}

// Empty where a float is no whole number.
std::string word_at(const NpyHeader& header, const std::byte* at) {
  const bool swapped = header.swapped;
  const auto signed_word = [&](auto value) { return fmt::format("{}", std::int64_t{value}); };
  const auto unsigned_word = [&](auto value) { return fmt::format("{}", std::uint64_t{value}); };
  switch (header.kind) {
    case 'U':
    case 'S':
      return text_at(header, at);
    case 'i':
      if (header.item_bytes == 1) return signed_word(load<std::int8_t>(at, swapped));
      if (header.item_bytes == 2) return signed_word(load<std::int16_t>(at, swapped));
      if (header.item_bytes == 4) return signed_word(load<std::int32_t>(at, swapped));
      return signed_word(load<std::int64_t>(at, swapped));
    case 'f': {
      const double value = header.item_bytes == 8   ? load<double>(at, swapped)
                           : header.item_bytes == 4 ? double{load<float>(at, swapped)}
                                                    : double{load_half(at, swapped)};
      const bool whole = std::abs(value) < 1e15 && value == std::floor(value);
      return whole ? signed_word(static_cast<std::int64_t>(value)) : std::string();
    }
    default:
      if (header.item_bytes == 1) return unsigned_word(load<std::uint8_t>(at, swapped));
      if (header.item_bytes == 2) return unsigned_word(load<std::uint16_t>(at, swapped));
      if (header.item_bytes == 4) return unsigned_word(load<std::uint32_t>(at, swapped));
      return unsigned_word(load<std::uint64_t>(at, swapped));
  }
}

}  // namespace

Result<NpyHeader> parse_npy_header(ByteSpan file) {
  ByteReader reader(file);
  const ByteSpan magic = reader.get_bytes(kMagic.size());
  if (!std::ranges::equal(magic, bytes_of(kMagic)))
    return Error{"magic", "byte 0: this is no .npy file, which begins with \\x93NUMPY"};
  const auto version = reader.get<std::uint8_t>();
  (void)reader.get<std::uint8_t>();
  if (!reader.ran_short() && (version < 1 || version > 3))
    return Error{"version",
                 fmt::format("byte 6: version {} of the format; 1 to 3 are known", version)};
  const std::size_t length =
      version == 1 ? reader.get<std::uint16_t>() : reader.get<std::uint32_t>();
  const std::size_t begin = file.size() - reader.left();
  if (length > kHeaderBytesMax)
    return Error{"size", fmt::format("byte 8: a header of {} bytes; {} at most are read", length,
                                     kHeaderBytesMax)};
  const ByteSpan text = reader.get_bytes(length);
  if (reader.ran_short())
    return Error{"truncated", fmt::format("byte {}: the file ends inside its header", file.size())};
  const Result<Dictionary> read =
      read_dictionary({reinterpret_cast<const char*>(text.data()), text.size()}, begin);
  if (!read) return read.error();
  NpyHeader header{.fortran_order = *read->fortran_order, .begin = begin + length};
  if (const Result<void> typed = read_type(read->type, header); !typed) return typed.error();
  if (const Result<void> shaped = read_shape(*read->shape, header); !shaped) return shaped.error();
  const std::uint64_t wanted = header.values * header.item_bytes;
  if (reader.left() != wanted)
    return Error{
        "size",
        fmt::format("the header announces ({}) values of {} bytes, which are {}, and {} "
                    "follow it",
                    fmt::join(header.extents, ", "), header.item_bytes, wanted, reader.left())};
  return header;
}

Result<NpyArray> parse_npy(ByteSpan file) {
  const Result<NpyHeader> header = parse_npy_header(file);
  if (!header) return header.error();
  if (header->kind == 'U' || header->kind == 'S')
    return Error{"type", "an array of texts where samples are numbers"};
  NpyArray array;
  for (const std::uint64_t extent : header->extents)
    array.extents.push_back(static_cast<std::uint32_t>(extent));
  if (header->item_bytes == 1 && header->kind != 'i') {
    array.bytes.reserve(header->values);
    in_c_order(*header, file, [&](const std::byte* at) {
      array.bytes.push_back(std::to_integer<std::uint8_t>(*at));
    });
    return array;
  }
  load_floats(*header, file, array.floats);
  const auto odd = std::ranges::find_if_not(array.floats, [](float v) { return std::isfinite(v); });
  if (odd != array.floats.end())
    return Error{"range", fmt::format("value {} of {} is not a finite number",
                                      odd - array.floats.begin(), array.floats.size())};
  return array;
}

Result<std::vector<std::string>> parse_npy_words(ByteSpan file) {
  const Result<NpyHeader> header = parse_npy_header(file);
  if (!header) return header.error();
  if (header->values != header->extents.front())
    return Error{"shape", fmt::format("({}) values where there is one for each sample",
                                      fmt::join(header->extents, ", "))};
  std::vector<std::string> words;
  words.reserve(header->values);
  in_c_order(*header, file, [&](const std::byte* at) { words.push_back(word_at(*header, at)); });
  const auto empty = std::find(words.begin(), words.end(), "");
  if (empty != words.end())
    return Error{"label", fmt::format("value {} is neither a whole number nor a text",
                                      empty - words.begin())};
  return words;
}

}  // namespace tessera
