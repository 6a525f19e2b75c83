// A checkpoint's contents, said once. A class names what it keeps,
//
//   void fields(Archive& archive) { archive(round_, told_, told_at_, missed_); }
//
// and the same line writes it and reads it back. Numbers are little-endian; a container is its
// length and its elements; a class is its fields.
//
// What is read may have been cut short or changed. No length is believed beyond what is left to
// read, every element taking a byte at least, and the first thing that does not hold is remembered:
// from then on reads give zeros, and the loader asks once, at the end, with ok().
#pragma once

#include <algorithm>
#include <any>
#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/random.h"
#include "base/result.h"

namespace tessera {

class Archive;

// Where what is saved lies in several processes: each holds some nodes, and one writes it all.
class Holders {
 public:
  virtual ~Holders() = default;
  virtual bool hold(NodeId node) const = 0;  // Whether this process does.
  // Called by all of them in the same order. Who writes gets what the node's holder hands in.
  virtual Bytes bring(NodeId node, Bytes state) = 0;
};

template <typename T>
concept HasFields = requires(T& object, Archive& archive) {
  object.fields(archive);
};

class Archive {
 public:
  // `holders` null: everything is in this process.
  explicit Archive(Bytes& out, Holders* holders = nullptr) : out_(&out), holders_(holders) {}
  explicit Archive(ByteReader& in, Holders* holders = nullptr) : in_(&in), holders_(holders) {}
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  bool loading() const { return in_ != nullptr; }
  Holders* holders() const { return holders_; }

  template <typename... T>
  void operator()(T&... fields) {
    (field(fields), ...);
  }

  // What belongs to a node, with its length before it: those who do not hold the node pass over it.
  template <typename... T>
  void of_node(NodeId node, T&... fields);

  // A vector whose length both sides know: one of another length is refused.
  void same_length(std::span<float> values, const char* what = "a saved vector") {
    std::uint64_t size = values.size();
    field(size);
    if (size != values.size()) return refuse(std::string(what) + " has another length");
    raw(std::as_writable_bytes(values));
  }

  // A buffer several things refer to, a message to many peers: it is written once. T is made of
  // Bytes and can be seen as such.
  template <typename T>
  void shared(std::shared_ptr<const T>& buffer);

  // Loading only: what was read cannot be. The first reason counts.
  void refuse(std::string why) {
    CHECK(loading());
    if (why_.empty()) why_ = std::move(why);
    *in_ = ByteReader(ByteSpan());
  }

  // Loading only: what must hold of the fields read so far.
  void require(bool holds, const char* why) {
    if (loading() && fine() && !holds) refuse(why);
  }

  // Everything read was there and nothing was refused. Asked when all is read.
  Result<void> ok() const {
    if (!why_.empty()) return Error{"checkpoint", why_};
    if (loading() && in_->ran_short()) return Error{"checkpoint", "it is cut short"};
    return {};
  }

 private:
  void raw(std::span<std::byte> bytes) {
    if (!loading()) return ByteWriter(*out_).put_bytes(bytes);
    const ByteSpan read = in_->get_bytes(bytes.size());
    if (read.size() == bytes.size())
      std::copy(read.begin(), read.end(), bytes.begin());
    else
      std::fill(bytes.begin(), bytes.end(), std::byte{0});
  }

  // How many elements follow. A length that what is left cannot hold is none.
  std::size_t count(std::size_t size, std::size_t bytes_each = 1) {
    std::uint64_t length = size;
    field(length);
    if (!loading() || length <= in_->left() / bytes_each) return static_cast<std::size_t>(length);
    refuse("it is cut short");
    return 0;
  }

  template <typename T>
  requires std::integral<T> || std::floating_point<T>
  void field(T& value) { raw(std::as_writable_bytes(std::span(&value, 1))); }

  template <typename T>
  requires std::is_enum_v<T>
  void field(T& value) {
    auto number = static_cast<std::underlying_type_t<T>>(value);
    field(number);
    value = static_cast<T>(number);
  }

  void field(bool& value) {
    auto byte = static_cast<std::uint8_t>(value);
    field(byte);
    value = byte != 0;
  }

  template <typename Rep, typename Period>
  void field(std::chrono::duration<Rep, Period>& value) {
    Rep number = value.count();
    field(number);
    value = std::chrono::duration<Rep, Period>(number);
  }

  template <typename Clock, typename Duration>
  void field(std::chrono::time_point<Clock, Duration>& value) {
    Duration since = value.time_since_epoch();
    field(since);
    value = std::chrono::time_point<Clock, Duration>(since);
  }

  void field(Random& random) {
    Random::State state = random.state();
    field(state.key);
    field(state.position);
    if (loading()) random = Random(state);
  }

  void field(std::string& text) {
    text.resize(count(text.size()));
    raw(std::as_writable_bytes(std::span(text)));
  }

  template <typename T>
  requires std::is_arithmetic_v<T> || std::same_as<T, std::byte>
  void field(std::vector<T>& values) {
    values.resize(count(values.size(), sizeof(T)));
    raw(std::as_writable_bytes(std::span(values)));
  }

  template <typename First, typename Second>
  void field(std::pair<First, Second>& pair) {
    field(pair.first);
    field(pair.second);
  }

  template <typename T>
  void field(std::optional<T>& maybe) {
    bool there = maybe.has_value();
    field(there);
    if (loading()) maybe.reset();
    if (loading() && there) maybe.emplace(T{});
    if (maybe) field(*maybe);
  }

  // Which alternative, then what it holds.
  template <typename... Kinds>
  void field(std::variant<Kinds...>& value) {
    auto kind = static_cast<std::uint8_t>(value.index());
    field(kind);
    if (loading() && kind >= sizeof...(Kinds)) return refuse("it holds a thing of unknown kind");
    if (loading()) {
      std::size_t i = 0;
      ((i++ == kind ? void(value.template emplace<Kinds>()) : void()), ...);
    }
    std::visit([this](auto& held) { this->field(held); }, value);
  }

  template <typename T, std::size_t kSize>
  void field(std::array<T, kSize>& values) {
    for (T& value : values) field(value);
  }

  template <typename T>
  void field(std::vector<T>& values) {
    sequence(values);
  }
  void field(std::vector<bool>& values) {
    std::size_t left = count(values.size());
    if (loading()) values.assign(left, false);
    for (std::size_t i = 0; i < values.size(); ++i) {
      bool value = values[i];
      field(value);
      values[i] = value;
    }
  }
  template <typename T>
  void field(std::deque<T>& values) {
    sequence(values);
  }

  template <typename Key, typename Value, typename Less>
  void field(std::map<Key, Value, Less>& entries) {
    std::size_t left = count(entries.size());
    if (!loading()) {
      for (auto& [key, value] : entries) {
        Key copy = key;
        field(copy);
        field(value);
      }
      return;
    }
    for (entries.clear(); left > 0 && fine(); --left) {
      Key key{};
      field(key);
      field(entries[std::move(key)]);
    }
  }

  template <typename Key, typename Less>
  void field(std::set<Key, Less>& keys) {
    std::vector<Key> list(keys.begin(), keys.end());
    field(list);
    if (loading()) keys = std::set<Key, Less>(list.begin(), list.end());
  }

  template <HasFields T>
  void field(T& object) {
    object.fields(*this);
  }

  // Each holder's is written whole, and is its own when it is read back.
  template <HasFields T>
  void field(std::shared_ptr<const T>& object) {
    if (!loading()) return field(const_cast<T&>(*object));
    auto own = std::make_shared<T>();
    field(*own);
    object = std::move(own);
  }

  template <typename Sequence>
  void sequence(Sequence& values) {
    std::size_t left = count(values.size());
    if (!loading()) {
      for (auto& value : values) field(value);
      return;
    }
    for (values.clear(); left > 0 && fine(); --left) field(values.emplace_back());
  }

  bool fine() const { return why_.empty() && !in_->ran_short(); }

  Bytes* out_ = nullptr;      // Not null while writing.
  ByteReader* in_ = nullptr;  // Not null while reading.
  Holders* holders_ = nullptr;
  std::string why_;                                         // Refused, when not empty.
  std::unordered_map<const void*, std::uint64_t> numbers_;  // Buffers written, by their place.
  std::vector<std::any> buffers_;                           // Buffers written or read.
};

template <typename... T>
void Archive::of_node(NodeId node, T&... fields) {
  const bool here = !holders_ || holders_->hold(node);
  if (!loading()) {
    Bytes state;
    Archive own(state);
    if (here) own(fields...);
    if (holders_) state = holders_->bring(node, std::move(state));
    return field(state);
  }
  ByteReader in(in_->get_bytes(count(0)));
  if (!here || !fine()) return;
  Archive own(in);
  own(fields...);
  if (const Result<void> read = own.ok(); !read) return refuse(read.error().message);
  require(in.left() == 0, "a node's part is longer than it should be");
}

template <typename T>
void Archive::shared(std::shared_ptr<const T>& buffer) {
  if (!loading()) {
    // Zero is no buffer; a number never met before is followed by its bytes.
    std::uint64_t number = 0;
    if (buffer) number = numbers_.emplace(buffer.get(), numbers_.size() + 1).first->second;
    const bool first = number > buffers_.size();
    field(number);
    if (!first) return;
    buffers_.push_back(buffer);
    const auto& bytes = static_cast<const Bytes&>(*buffer);
    std::uint64_t size = bytes.size();
    field(size);
    return ByteWriter(*out_).put_bytes(bytes);
  }
  std::uint64_t number = 0;
  field(number);
  if (number > buffers_.size() + 1) return refuse("it refers to a buffer that it does not hold");
  if (number == buffers_.size() + 1) {
    Bytes bytes;
    field(bytes);
    buffers_.emplace_back(std::make_shared<const T>(std::move(bytes)));
  }
  buffer = nullptr;
  if (number == 0) return;
  const auto* const held = std::any_cast<std::shared_ptr<const T>>(&buffers_[number - 1]);
  if (!held) return refuse("it refers to a buffer of another kind");
  buffer = *held;
}

// The whole of an object, to the end of `out`. Writing changes nothing in it: `fields` is not const
// only because reading goes through the same line.
template <HasFields T>
void save_fields(const T& object, Bytes& out, Holders* holders = nullptr) {
  Archive archive(out, holders);
  const_cast<T&>(object).fields(archive);
}

template <HasFields T>
Result<void> load_fields(T& object, ByteReader& in, Holders* holders = nullptr) {
  Archive archive(in, holders);
  object.fields(archive);
  return archive.ok();
}

inline void save_vector(std::span<const float> values, Bytes& out) {
  ByteWriter writer(out);
  writer.put<std::uint64_t>(values.size());
  writer.put_bytes(bytes_of(values));
}

}  // namespace tessera
