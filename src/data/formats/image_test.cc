#include "data/formats/image.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "data/test_files.h"

namespace tessera {
namespace {

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  int largest = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i)
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

TEST(Jpeg, KeepsASmoothImageNearly) {
  for (const bool progressive : {false, true})
    for (const std::uint32_t channels : {1u, 3u}) {
      const Image image = gradient(channels, 24, 17);
      const Result<Image> read = decode_image(encode_jpeg(image, progressive), channels);
      ASSERT_TRUE(read.ok()) << read.error().message;
      EXPECT_EQ(read->width, 17u);
      EXPECT_EQ(read->height, 24u);
      EXPECT_LE(largest_difference(*read, image), 6);
    }
}

TEST(Png, KeepsAnImageExactly) {
  for (const std::uint32_t channels : {1u, 3u}) {
    const Image image = gradient(channels, 24, 17);
    const Result<Image> read = decode_image(encode_png(image), channels);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->pixels, image.pixels);
  }
}

TEST(Image, ColourBecomesGreyAndTheOtherWayRound) {
  Image grey = gradient(1, 8, 8);
  for (const Bytes& file : {encode_jpeg(grey), encode_png(grey)}) {
    const Result<Image> colour = decode_image(file, 3);
    ASSERT_TRUE(colour.ok()) << colour.error().message;
    EXPECT_EQ(colour->pixels.size(), 3u * 64);
    EXPECT_EQ(colour->pixels[3], colour->pixels[5]);
  }
  EXPECT_EQ(decode_image(encode_jpeg(gradient(3, 8, 8)), 1)->pixels.size(), 64u);
  // An opaque red pixel and a transparent one.
  const Result<Image> on_black =
      decode_image(encode_png({4, 1, 2, {255, 0, 0, 255, 255, 255, 255, 0}}), 3);
  ASSERT_TRUE(on_black.ok()) << on_black.error().message;
  EXPECT_EQ(on_black->pixels, (std::vector<std::uint8_t>{255, 0, 0, 0, 0, 0}));
}

// Cut anywhere, an image is refused: libjpeg alone would fill the rest with grey. Only the end
// marker, the last two bytes, may be cut to no effect on the pixels, and it is refused too.
TEST(Image, EveryTruncationIsRefused) {
  for (const Bytes& file :
       {encode_jpeg(gradient(3, 40, 40)), encode_jpeg(gradient(3, 40, 40), true),
        encode_png(gradient(3, 40, 40))})
    for (std::size_t size = 0; size + 12 < file.size(); ++size)
      EXPECT_FALSE(decode_image(ByteSpan(file).first(size), 3).ok()) << size << "/" << file.size();
}

// Flipped bits may give another image or an error, and nothing else.
TEST(Image, FlippedBitsNeverCrash) {
  Random random(3);
  int refused = 0;
  for (const Bytes& file :
       {encode_jpeg(gradient(3, 24, 24)), encode_jpeg(gradient(3, 24, 24), true),
        encode_png(gradient(3, 24, 24))})
    for (int i = 0; i < 1000; ++i) {
      Bytes flipped = file;
      for (int k = 0; k < 3; ++k)
        flipped[random.below(flipped.size())] ^= std::byte(1u << random.below(8));
      refused += !decode_image(flipped, 3, 1 << 20).ok();
    }
  EXPECT_GT(refused, 1000);
}

TEST(Image, SizesAreBoundedBeforeMemoryIsTaken) {
  for (const Bytes& file : {encode_jpeg(gradient(3, 40, 30)), encode_png(gradient(3, 40, 30))}) {
    EXPECT_EQ(decode_image(file, 3, 1199).error().message, "40 x 30 pixels are more than 1199");
    EXPECT_TRUE(decode_image(file, 3, 1200).ok());
  }
}

TEST(Image, OtherFilesAreRefused) {
  EXPECT_EQ(decode_image(bytes_of("GIF89a"), 3).error().message,
            "byte 0: neither a JPEG nor a PNG image");
  EXPECT_FALSE(decode_image({}, 3).ok());
  EXPECT_FALSE(decode_jpeg({}, 3).ok());
  EXPECT_FALSE(decode_png({}, 3).ok());
}

TEST(Resize, SameSizeChangesNothingAndFlatStaysFlat) {
  const Image image = gradient(3, 9, 7);
  EXPECT_EQ(resized(image, 9, 7).pixels, image.pixels);
  const Image flat{1, 5, 5, std::vector<std::uint8_t>(25, 77)};
  for (const std::uint32_t side : {1u, 3u, 5u, 16u})
    EXPECT_EQ(resized(flat, side, side).pixels, std::vector<std::uint8_t>(side * side, 77));
}

// 6 x 6 grey pixels 0, 37, 74, ... modulo 256, and what Pillow 9.4 makes of them; the last digit
// may differ, as Pillow computes in fixed point.
TEST(Resize, AgreesWithPillow) {
  Image image{1, 6, 6, {}};
  for (int i = 0; i < 36; ++i) image.pixels.push_back(static_cast<std::uint8_t>(37 * i));
  const auto expect = [&](std::uint32_t height, std::uint32_t width, std::vector<int> pillow) {
    const Image ours = resized(image, height, width);
    for (std::size_t i = 0; i < pillow.size(); ++i) EXPECT_NEAR(ours.pixels[i], pillow[i], 1) << i;
  };
  expect(4, 3, {45, 78, 155, 167, 45, 103, 177, 140, 46, 117, 193, 102});
  expect(8, 7, {0,   27,  63,  95,  126, 159, 188, 146, 22,  29,  75,  105, 138, 167,
                233, 110, 27,  34,  78,  110, 139, 182, 238, 93,  15,  49,  85,  114,
                157, 189, 224, 104, 0,   60,  88,  132, 160, 209, 199, 100, 6,   63,
                104, 133, 165, 218, 194, 72,  32,  83,  112, 145, 176, 224, 207, 6});
}

TEST(Image, PlanesFollowOneAnother) {
  std::vector<std::uint8_t> planes(6);
  copy_planes({3, 1, 2, {1, 2, 3, 4, 5, 6}}, planes);
  EXPECT_EQ(planes, (std::vector<std::uint8_t>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace tessera
