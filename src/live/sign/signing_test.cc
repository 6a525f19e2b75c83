#include "live/sign/signing.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// RFC 8032, 7.1, test 1 and test 2.
TEST(Signing, AgreesWithTheStandardsExamples) {
  const KeyPair first = {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                         "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"};
  const std::string signature =
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
      "b"
      "46bd25bf5f0595bbe24655141438e7a100b";
  EXPECT_EQ(sign("", first), signature);
  EXPECT_TRUE(is_signed_by(first.public_key, "", signature));
  const KeyPair second = {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
                          "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"};
  EXPECT_EQ(
      sign("r", second),
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f361"
      "3d0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
}

TEST(Signing, AnythingElseIsNotSigned) {
  const KeyPair owner = make_signing_pair(), other = make_signing_pair();
  const std::string signature = sign("a roster", owner);
  EXPECT_TRUE(is_signed_by(owner.public_key, "a roster", signature));
  EXPECT_FALSE(is_signed_by(other.public_key, "a roster", signature));
  EXPECT_FALSE(is_signed_by(owner.public_key, "a rosteR", signature));
  EXPECT_FALSE(is_signed_by(owner.public_key, "a roster", sign("a roster", other)));
  for (std::size_t i = 0; i < signature.size(); ++i) {
    std::string changed = signature;
    changed[i] = changed[i] == '0' ? '1' : '0';
    EXPECT_FALSE(is_signed_by(owner.public_key, "a roster", changed)) << i;
    EXPECT_FALSE(is_signed_by(owner.public_key, "a roster", signature.substr(0, i))) << i;
  }
  EXPECT_FALSE(is_signed_by("", "a roster", signature));
  EXPECT_FALSE(is_signed_by(owner.public_key, "a roster", signature + "00"));
}

TEST(Signing, AKeyComesBackFromItsFile) {
  const fs::path folder =
      fs::path(testing::TempDir()) / ("tessera-signing-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const KeyPair owner = make_signing_pair();
  const KeyFiles files = key_files(folder, "fleet");
  ASSERT_TRUE(write_key_files(files, owner));
  const Result<KeyPair> read = read_signing_key(files.secret);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->public_key, owner.public_key);
  EXPECT_EQ(read->secret_key, owner.secret_key);
  EXPECT_TRUE(is_signing_key(owner.public_key));
  EXPECT_EQ(read_signing_key(files.shared).error().kind, "mode");
  ASSERT_TRUE(write_private_file(folder / "odd.key", {bytes_of(std::string_view("short\n"))}));
  EXPECT_EQ(read_signing_key(folder / "odd.key").error().kind, "key");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tessera
