#include "node/letter.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "base/archive.h"

namespace tessera {
namespace {

const Share kShare{.dimension = 9, .coordinates = Listed{{1, 4}}, .values = {3, -4}};

std::shared_ptr<const Letter> letter_of(const Share& share) {
  Encoded encoded = encode({.round = 7}, share, parse_codec("gamma+f32"), {.sender = 2}, Random(1));
  return std::make_shared<const Letter>(std::move(encoded.bytes));
}

TEST(Letter, IsReadOnceForAll) {
  const auto letter = letter_of(kShare);
  std::array<const Share*, 4> seen{};
  {
    std::array<std::jthread, 4> readers;
    for (std::size_t i = 0; i < readers.size(); ++i)
      readers[i] = std::jthread([&, i] { seen[i] = letter->read().value().share().get(); });
  }
  for (const Share* const share : seen) EXPECT_EQ(share, seen.front());
  EXPECT_EQ(*seen.front(), kShare);
  EXPECT_EQ(letter->read()->message->heading.round, 7u);
  EXPECT_EQ(letter->read()->norm, 5.0);
}

TEST(Letter, WhoKeepsTheShareNeedNotKeepTheLetter) {
  auto letter = letter_of(kShare);
  const HeardShare kept = letter->read()->share();
  const std::weak_ptr<const Letter> gone = letter;
  letter.reset();
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(*kept, kShare);
}

TEST(Letter, OneThatIsDamagedIsRefusedEveryTime) {
  Bytes bytes = letter_of(kShare)->bytes();
  bytes[70] ^= std::byte{1};
  const Letter damaged(bytes);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(damaged.read().error().kind, "checksum");
  EXPECT_EQ(damaged.bytes(), bytes);
}

TEST(Letter, ThatManyGetIsWrittenOnceAndIsOneAgain) {
  auto letter = letter_of(kShare), same = letter;
  Bytes saved;
  Archive writer(saved);
  writer.shared(letter), writer.shared(same);
  EXPECT_LT(saved.size(), 2 * letter->bytes().size());
  ByteReader in(saved);
  Archive reader(in);
  std::shared_ptr<const Letter> one, other;
  reader.shared(one), reader.shared(other);
  ASSERT_TRUE(reader.ok().ok());
  EXPECT_EQ(one, other);
  EXPECT_EQ(one->read()->message->share, kShare);
}

// A damaged checkpoint may take a number for another's.
TEST(Letter, IsNotReadFromABufferOfAnotherKind) {
  auto letter = letter_of(kShare);
  Bytes saved;
  Archive writer(saved);
  writer.shared(letter), writer.shared(letter);
  ByteReader in(saved);
  Archive reader(in);
  std::shared_ptr<const Bytes> bytes;
  reader.shared(bytes), reader.shared(letter);
  EXPECT_FALSE(reader.ok().ok());
  EXPECT_EQ(letter, nullptr);
}

}  // namespace
}  // namespace tessera
