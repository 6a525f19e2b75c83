#include "base/archive.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/time.h"

namespace tessera {
namespace {

using namespace std::chrono_literals;

struct Inner {
  std::uint32_t number = 0;
  std::string word{};
  bool operator==(const Inner&) const = default;
  void fields(Archive& archive) { archive(number, word); }
};

// One field of every shape an archive knows.
struct Everywhere {
  bool flag = false;
  double fraction = 0;
  Duration span{};
  Instant at{};
  Vector values{};
  std::vector<bool> bits{};
  std::vector<Inner> list{};
  std::deque<std::uint16_t> line{};
  std::map<std::string, Inner> table{};
  std::set<NodeId> names{};
  std::optional<Inner> maybe{}, nothing{};
  std::pair<std::uint8_t, float> both{};
  std::array<std::int64_t, 2> two{};
  std::variant<bool, Inner> either{};
  bool operator==(const Everywhere&) const = default;
  void fields(Archive& archive) {
    archive(flag, fraction, span, at, values, bits, list, line, table, names, maybe, nothing, both,
            two, either);
  }
};

Everywhere full() {
  return {.flag = true,
          .fraction = 0.25,
          .span = -7s,
          .at = Instant(3s),
          .values = {1, 2, 3},
          .bits = {true, false, true},
          .list = {{1, "one"}, {2, ""}},
          .line = {5, 6},
          .table = {{"a", {3, "three"}}},
          .names = {9, 4},
          .maybe = Inner{8, "eight"},
          .nothing = {},
          .both = {7, 0.5f},
          .two = {-1, 1},
          .either = Inner{4, "four"}};
}

TEST(Archive, WhatIsWrittenIsReadBack) {
  Bytes bytes;
  save_fields(full(), bytes);
  ByteReader in(bytes);
  Everywhere read{.nothing = Inner{1, "left over"}};
  ASSERT_TRUE(load_fields(read, in).ok());
  EXPECT_EQ(read, full());
  EXPECT_EQ(in.left(), 0u);
}

TEST(Archive, EveryTruncationIsRefused) {
  Bytes bytes;
  save_fields(full(), bytes);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ByteReader in(ByteSpan(bytes).first(length));
    Everywhere read;
    const Result<void> loaded = load_fields(read, in);
    ASSERT_FALSE(loaded.ok()) << length;
    EXPECT_EQ(loaded.error().kind, "checkpoint");
  }
}

// A length of 2^60 must not be believed: nothing of that size is left to read.
TEST(Archive, LengthsBeyondWhatIsLeftAllocateNothing) {
  Bytes bytes;
  ByteWriter(bytes).put<std::uint64_t>(1ull << 60);
  const auto refuses = [&](auto field) {
    ByteReader in(bytes);
    Archive archive(in);
    archive(field);
    return field.size() == 0 && !archive.ok();
  };
  EXPECT_TRUE(refuses(Vector{}));
  EXPECT_TRUE(refuses(std::string{}));
  EXPECT_TRUE(refuses(std::vector<Inner>{}));
  EXPECT_TRUE(refuses(std::map<NodeId, NodeId>{}));
  EXPECT_TRUE(refuses(std::set<NodeId>{}));
}

TEST(Archive, AVectorOfAKnownLengthTakesNoOther) {
  Bytes bytes;
  Vector three = {1, 2, 3}, two = {4, 5};
  Archive(bytes).same_length(three);
  ByteReader in(bytes);
  Archive archive(in);
  archive.same_length(two, "a saved model");
  ASSERT_FALSE(archive.ok().ok());
  EXPECT_EQ(archive.ok().error().message, "a saved model has another length");
}

TEST(Archive, AKindThatThereIsNotIsRefused) {
  const Bytes bytes = {std::byte{2}, std::byte{0}};
  ByteReader in(bytes);
  Archive archive(in);
  std::variant<bool, Inner> either;
  archive(either);
  EXPECT_FALSE(archive.ok().ok());
}

// The first reason counts, and a length cut short is one.
TEST(Archive, WhatMustHoldIsAskedOfWhatWasRead) {
  Bytes bytes;
  ByteWriter(bytes).put<std::uint32_t>(7);
  for (const std::size_t length : {4u, 3u}) {
    ByteReader in(ByteSpan(bytes).first(length));
    Archive archive(in);
    std::uint32_t number = 0;
    archive(number);
    archive.require(number < 7, "seven is too many");
    archive.require(number < 6, "so it is");
    ASSERT_FALSE(archive.ok().ok());
    EXPECT_EQ(archive.ok().error().message, length == 4 ? "seven is too many" : "it is cut short");
  }
}

TEST(Archive, ASharedBufferIsWrittenOnceAndIsOneAgain) {
  const auto message = std::make_shared<const Bytes>(1000, std::byte{7});
  std::shared_ptr<const Bytes> first = message, second = message, none,
                               other = std::make_shared<const Bytes>(10, std::byte{1});
  Bytes bytes;
  Archive writer(bytes);
  for (auto* buffer : {&first, &none, &other, &second}) writer.shared(*buffer);
  EXPECT_LT(bytes.size(), 1100u);
  ByteReader in(bytes);
  Archive reader(in);
  std::shared_ptr<const Bytes> a, b, c, d;
  for (auto* buffer : {&a, &b, &c, &d}) reader.shared(*buffer);
  ASSERT_TRUE(reader.ok().ok());
  EXPECT_EQ(a, d);
  EXPECT_EQ(*a, *message);
  EXPECT_EQ(b, nullptr);
  EXPECT_EQ(*c, *other);
}

}  // namespace
}  // namespace tessera
