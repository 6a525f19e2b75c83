#include "live/link/knocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace tessera {
namespace {

constexpr std::uint32_t kKnockMagic = 0x4b535354, kStandingMagic = 0x57535354;  // "TSSK", "TSSW"
constexpr std::size_t kKeyBytes = 40, kAddressBytesMax = 255;
constexpr std::size_t kKnockHead = sizeof kKnockMagic + sizeof kKnockVersion + kKeyBytes;
constexpr Duration kKnockEvery = std::chrono::milliseconds(200);
constexpr int kKnocksAtOnceMax = 8;

std::string take_text(ByteReader& in, std::size_t length) {
  const ByteSpan bytes = in.get_bytes(length);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Bytes encode_knock(const Knock& knock) {
  CHECK(knock.public_key.size() == kKeyBytes);
  CHECK(knock.address.size() <= kAddressBytesMax);
  Bytes bytes;
  ByteWriter out(bytes);
  out.put(kKnockMagic);
  out.put(kKnockVersion);
  out.put_bytes(bytes_of(std::string_view(knock.public_key)));
  out.put_bytes(bytes_of(std::string_view(knock.address)));
  return bytes;
}

bool is_knock(ByteSpan frame) {
  return ByteReader(frame).get<std::uint32_t>() == kKnockMagic && frame.size() >= kKnockHead &&
         frame.size() <= kKnockHead + kAddressBytesMax;
}

Result<Knock> decode_knock(ByteSpan frame) {
  if (!is_knock(frame)) return Error{"knock", "what came is no knock"};
  ByteReader in(frame);
  (void)in.get<std::uint32_t>();
  if (const auto version = in.get<std::uint16_t>(); version != kKnockVersion)
    return Error{"knock", fmt::format("a knock of version {}, and this program reads {}", version,
                                      kKnockVersion)};
  Knock knock{.public_key = take_text(in, kKeyBytes)};
  knock.address = take_text(in, in.left());
  return knock;
}

Bytes encode_knock_answer(const KnockAnswer& answer) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.put(kStandingMagic);
  out.put(kKnockVersion);
  out.put(static_cast<std::uint8_t>(answer.standing));
  out.put(static_cast<std::uint32_t>(answer.experiment.size()));
  out.put_bytes(bytes_of(std::string_view(answer.experiment)));
  out.put_bytes(bytes_of(std::string_view(answer.roster)));
  return bytes;
}

Result<KnockAnswer> decode_knock_answer(ByteSpan frame) {
  ByteReader in(frame);
  const auto magic = in.get<std::uint32_t>();
  const auto version = in.get<std::uint16_t>();
  const Error not_one{"kind", "what came is no answer to a knock"};
  if (in.ran_short() || magic != kStandingMagic) return not_one;
  if (version != kKnockVersion)
    return Error{"version", fmt::format("it answers in version {}, and this program reads {}",
                                        version, kKnockVersion)};
  const auto standing = in.get<std::uint8_t>();
  const auto length = in.get<std::uint32_t>();
  if (standing > static_cast<std::uint8_t>(KnockStanding::kWrong) || length > kExperimentTextMax)
    return not_one;
  KnockAnswer answer{.standing = static_cast<KnockStanding>(standing)};
  answer.experiment = take_text(in, length);
  if (in.ran_short() || in.left() > kRosterTextMax) return not_one;
  answer.roster = take_text(in, in.left());
  return answer;
}

void Knocks::answer_with(Reply reply) {
  const std::lock_guard lock(mutex_);
  reply_ = std::move(reply);
}

bool Knocks::take(Instant now, std::string_view guest, std::string_view route, ByteSpan frame) {
  std::erase_if(paid_until_, [&](const auto& paid) { return paid.second <= now; });
  const auto found = paid_until_.try_emplace(std::string(guest), now).first;
  if (found->second > now + (kKnocksAtOnceMax - 1) * kKnockEvery) return false;
  found->second += kKnockEvery;
  waiting_.push_back({std::string(guest), std::string(route), Bytes(frame.begin(), frame.end())});
  return true;
}

std::vector<Questions::Answer> Knocks::answer() {
  std::vector<Questions::Answer> answers;
  if (waiting_.empty()) return answers;
  const std::lock_guard lock(mutex_);
  if (reply_)
    for (Waiting& waits : waiting_)
      answers.push_back(
          {std::move(waits.route), encode_knock_answer(reply_(waits.guest, waits.frame))});
  waiting_.clear();
  return answers;
}

}  // namespace tessera
