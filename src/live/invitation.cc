#include "live/invitation.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "live/link/keys.h"
#include "live/roster.h"
#include "live/sign/signing.h"

namespace tessera {
namespace {

constexpr std::string_view kBegins = "tessera-1-";
constexpr std::size_t kTokenMax = 1024;

Error not_a_token(std::string_view why) {
  return {"token",
          fmt::format("the token {}: paste the whole line that tessera invite wrote", why)};
}

std::uint32_t checksum(ByteSpan bytes) {
  return static_cast<std::uint32_t>(hash_bytes(bytes));
}

void put_short_text(ByteWriter& out, std::string_view text) {
  CHECK(text.size() < 256);
  out.put(static_cast<std::uint8_t>(text.size()));
  out.put_bytes(bytes_of(text));
}

std::string get_short_text(ByteReader& in) {
  const ByteSpan bytes = in.get_bytes(in.get<std::uint8_t>());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<Invitation> read_invitation(ByteReader& in) {
  const ByteSpan secret = in.get_bytes(32), member = in.get_bytes(32), owner = in.get_bytes(32);
  const ByteSpan experiment = in.get_bytes(32);
  Invitation invitation{.experiment = Bytes(experiment.begin(), experiment.end())};
  invitation.name = get_short_text(in);
  invitation.address = get_short_text(in);
  if (in.ran_short() || in.left() > 0) return not_a_token("is cut short or too long");
  invitation.secret_key = key_from_bytes(secret);
  invitation.member_key = key_from_bytes(member);
  invitation.owner = signing_key_of(owner);
  if (invitation.address == kDialsOut)
    return Error{"token",
                 "the member that this token names dials out, so nobody can knock at it: ask for "
                 "one that names a member with an address"};
  if (!member_name_fault(invitation.name).empty() || !address_fault(invitation.address).empty())
    return not_a_token("has a name or an address that cannot be");
  return invitation;
}

}  // namespace

std::string to_token(const Invitation& invitation) {
  CHECK(invitation.experiment.size() == 32);
  Bytes bytes;
  ByteWriter out(bytes);
  out.put_bytes(key_to_bytes(invitation.secret_key));
  out.put_bytes(key_to_bytes(invitation.member_key));
  out.put_bytes(bytes_of_signing_key(invitation.owner));
  out.put_bytes(invitation.experiment);
  put_short_text(out, invitation.name);
  put_short_text(out, invitation.address);
  out.put(checksum(bytes));
  return std::string(kBegins) + to_base64(bytes);
}

Result<Invitation> parse_token(std::string_view token) {
  token = trimmed(token);
  if (!token.starts_with(kBegins) || token.size() > kTokenMax)
    return not_a_token(fmt::format("does not begin with {}, or is too long", kBegins));
  const Result<Bytes> bytes = from_base64(token.substr(kBegins.size()));
  if (!bytes) return not_a_token("was cut short or mistyped");
  constexpr std::size_t kSum = sizeof(std::uint32_t);
  if (bytes->size() < kSum) return not_a_token("was cut short or mistyped");
  const ByteSpan said = ByteSpan(*bytes).first(bytes->size() - kSum);
  if (ByteReader(ByteSpan(*bytes).last(kSum)).get<std::uint32_t>() != checksum(said))
    return not_a_token("was cut short or mistyped");
  ByteReader in(said);
  return read_invitation(in);
}

}  // namespace tessera
