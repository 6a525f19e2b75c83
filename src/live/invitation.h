// What one machine needs to join a fleet, as one line to paste there: a secret that is this
// invitation's alone, where to knock and whom to believe. Whoever has the line may knock in that
// machine's name, once; only the owner's signature makes it a member.
//
//   tessera-1-AbC...    base64 of: the secret, the key of the member to knock at, the owner's key,
//   the
//                       experiment's fingerprint (32 each); length (1) and name, length (1) and
//                       address; a checksum (4)
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace tessera {

struct Invitation {
  std::string secret_key{};  // CURVE; its public key is what the member at the door knows.
  std::string member_key{};  // CURVE, of the member to knock at.
  std::string owner{};       // The fleet's, Ed25519.
  Bytes experiment{};        // The fingerprint of its text.
  std::string name{};        // Whom it is for.
  std::string address{};     // Of the member.
  bool operator==(const Invitation&) const = default;
};

std::string to_token(const Invitation& invitation);
// Errors: "token", with what is wrong with it.
Result<Invitation> parse_token(std::string_view token);

}  // namespace tessera
