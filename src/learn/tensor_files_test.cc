#include "learn/tensor_files.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

const std::vector<float> kMatrix = {1, 2, 3, 4, 5, 6}, kVector = {7};
const std::vector<std::int64_t> kMatrixShape = {2, 3}, kVectorShape = {1};

std::vector<NamedTensor> two_tensors() {
  return {{.name = "conv1.weight", .shape = kMatrixShape, .values = kMatrix},
          {.name = "conv1.bias", .shape = kVectorShape, .values = kVector}};
}

std::string text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Safetensors, IsAHeaderOfOffsetsAndTheValues) {
  const Bytes file = to_safetensors(two_tensors());
  ByteReader reader(file);
  const auto length = reader.get<std::uint64_t>();
  EXPECT_EQ(length % 8, 0u);
  std::string header = text(reader.get_bytes(length));
  header.erase(header.find_last_not_of(' ') + 1);
  EXPECT_EQ(header, R"({"__metadata__":{"format":"pt"},)"
                    R"("conv1.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                    R"("conv1.bias":{"dtype":"F32","shape":[1],"data_offsets":[24,28]}})");
  for (int i = 1; i <= 7; ++i) EXPECT_EQ(reader.get<float>(), static_cast<float>(i));
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_FALSE(reader.ran_short());
}

TEST(Safetensors, NamesAreQuoted) {
  const NamedTensor odd{.name = "a\"b\\c\n", .shape = kVectorShape, .values = kVector};
  EXPECT_NE(text(to_safetensors({&odd, 1})).find(R"("a\"b\\c\u000a":)"), std::string::npos);
}

// The archive ends in a directory; each of its lines leads to an array.
TEST(Npz, IsAnArchiveOfArrays) {
  const Result<Bytes> file = to_npz(two_tensors());
  ASSERT_TRUE(file.ok()) << file.error().message;
  ByteReader end(ByteSpan(*file).last(22));
  EXPECT_EQ(end.get<std::uint32_t>(), 0x06054b50u);
  end.get_bytes(6);
  EXPECT_EQ(end.get<std::uint16_t>(), 2u);
  const auto size = end.get<std::uint32_t>(), start = end.get<std::uint32_t>();
  EXPECT_EQ(start + size + 22u, file->size());

  ByteReader entry(*file);
  EXPECT_EQ(entry.get<std::uint32_t>(), 0x04034b50u);
  entry.get_bytes(14);
  const auto bytes = entry.get<std::uint32_t>();
  entry.get_bytes(4);
  const auto name = entry.get<std::uint16_t>();
  entry.get_bytes(2);
  EXPECT_EQ(text(entry.get_bytes(name)), "conv1.weight.npy");
  const ByteSpan array = entry.get_bytes(bytes);
  EXPECT_EQ((array.size() - kMatrix.size() * sizeof(float)) % 64, 0u);
  EXPECT_EQ(text(array.first(8)), std::string("\x93NUMPY\x01\0", 8));
  EXPECT_NE(text(array).find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }"),
            std::string::npos);
  ByteReader values(array.last(kMatrix.size() * sizeof(float)));
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(values.get<float>(), static_cast<float>(i));
}

TEST(Npz, RefusesWhatItCannotCount) {
  const std::vector<std::int64_t> shape = {1 << 30};
  // Only its length is looked at.
  const NamedTensor large{.name = "w", .shape = shape, .values = {kVector.data(), 1u << 30}};
  const Result<Bytes> file = to_npz({&large, 1});
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message,
            "npz holds at most 4 GiB and 65534 tensors; safetensors has no such bound");
}

TEST(TensorFiles, TheSameTensorsGiveTheSameBytes) {
  EXPECT_EQ(to_safetensors(two_tensors()), to_safetensors(two_tensors()));
  EXPECT_EQ(*to_npz(two_tensors()), *to_npz(two_tensors()));
}

}  // namespace
}  // namespace tessera
