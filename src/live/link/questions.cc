#include "live/link/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr std::uint32_t kQuestionMagic = 0x51535354, kReportMagic = 0x41535354;  // "TSSQ", "TSSA"
// Per key: so many questions a second on average, and so many at once.
constexpr Duration kAskEvery = std::chrono::milliseconds(50);
constexpr int kAtOnceMax = 8;

}  // namespace

Bytes encode_question() {
  Bytes bytes;
  ByteWriter out(bytes);
  out.put(kQuestionMagic);
  out.put(kQuestionVersion);
  return bytes;
}

bool is_question(ByteSpan frame) {
  ByteReader in(frame);
  return in.get<std::uint32_t>() == kQuestionMagic && in.left() == sizeof kQuestionVersion;
}

Bytes encode_report(std::string_view report) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.put(kReportMagic);
  out.put(kQuestionVersion);
  out.put_bytes(bytes_of(report));
  return bytes;
}

Result<std::string> decode_report(ByteSpan frame) {
  ByteReader in(frame);
  const auto magic = in.get<std::uint32_t>();
  const auto version = in.get<std::uint16_t>();
  if (in.ran_short() || magic != kReportMagic) return Error{"kind", "what came is no answer"};
  if (version != kQuestionVersion)
    return Error{"version", fmt::format("it answers in version {}, and this program reads {}",
                                        version, kQuestionVersion)};
  const ByteSpan text = in.get_bytes(in.left());
  return std::string(reinterpret_cast<const char*>(text.data()), text.size());
}

void Questions::answer_with(std::function<std::string()> report) {
  const std::lock_guard lock(mutex_);
  report_ = std::move(report);
}

bool Questions::take(Instant now, std::size_t key, std::string_view route) {
  Instant& paid_until = paid_until_[key];
  if (paid_until > now + (kAtOnceMax - 1) * kAskEvery) return false;
  paid_until = std::max(paid_until, now) + kAskEvery;
  routes_.emplace_back(route);
  return true;
}

std::vector<Questions::Answer> Questions::answer() {
  std::vector<Answer> answers;
  if (routes_.empty()) return answers;
  const std::lock_guard lock(mutex_);
  if (report_) {
    const Bytes bytes = encode_report(report_());
    for (std::string& route : routes_) answers.push_back({std::move(route), bytes});
  }
  routes_.clear();
  return answers;
}

}  // namespace tessera
