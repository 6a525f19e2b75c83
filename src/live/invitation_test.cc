#include "live/invitation.h"

#include <gtest/gtest.h>

#include "live/link/keys.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

Invitation an_invitation() {
  return {.secret_key = make_key_pair().secret_key,
          .member_key = make_key_pair().public_key,
          .owner = make_signing_pair().public_key,
          .experiment = fingerprint("nodes = 3\n"),
          .name = "bob",
          .address = "10.0.0.1:5555"};
}

TEST(Invitation, IsOneLineThatIsReadBack) {
  const Invitation invitation = an_invitation();
  const std::string token = to_token(invitation);
  EXPECT_EQ(token.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789-_"),
            token.npos);
  EXPECT_LT(token.size(), 230u);
  ASSERT_TRUE(parse_token(token).ok());
  EXPECT_EQ(*parse_token(token), invitation);
  EXPECT_EQ(*parse_token("  " + token + "\n"), invitation) << "as it is pasted";
}

TEST(Invitation, OneThatIsCutShortOrMistypedIsRefused) {
  const std::string token = to_token(an_invitation());
  for (std::size_t length = 0; length < token.size(); ++length)
    EXPECT_EQ(parse_token(token.substr(0, length)).error().kind, "token") << length;
  for (std::size_t at = 0; at < token.size(); ++at) {
    std::string mistyped = token;
    mistyped[at] = mistyped[at] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(parse_token(mistyped).ok()) << at;
  }
  EXPECT_FALSE(parse_token(token + "A").ok());
  EXPECT_FALSE(parse_token(token + std::string(2000, 'A')).ok());
  EXPECT_NE(parse_token("bob.pub").error().message.find("tessera invite"), std::string::npos);
}

// A checksum that is right makes nothing true.
TEST(Invitation, AForgedNameOrAddressIsRefused) {
  Invitation invitation = an_invitation();
  invitation.name = "../bob";
  EXPECT_FALSE(parse_token(to_token(invitation)).ok());
  invitation = an_invitation();
  invitation.address = "10.0.0.1";
  EXPECT_FALSE(parse_token(to_token(invitation)).ok());
  invitation.address = "dials-out";
  EXPECT_NE(parse_token(to_token(invitation)).error().message.find("nobody can knock at it"),
            std::string::npos);
}

TEST(Invitation, AFingerprintTellsTextsApart) {
  EXPECT_EQ(fingerprint("a").size(), 32u);
  EXPECT_EQ(fingerprint("a"), fingerprint("a"));
  EXPECT_NE(fingerprint("a"), fingerprint("b"));
}

}  // namespace
}  // namespace tessera
