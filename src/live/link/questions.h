// Questions how a node is, which members and observers ask over connections of their own, and the
// answers to them. Each is one frame:
//
//   question  "TSSQ", the version (2)
//   answer    "TSSA", the version (2), and a text: the node's status as JSON
//
// A key that asks too often is answered the less often: ZeroMQ keeps 256 answers for a connection
// that does not read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"

namespace tessera {

inline constexpr std::uint16_t kQuestionVersion = 1;
inline constexpr std::size_t kReportBytesMax = 4 << 20;  // An answer of more is not taken.

Bytes encode_question();
bool is_question(ByteSpan frame);  // Of any version.
Bytes encode_report(std::string_view report);
// Errors: "kind" for what is no answer, "version" for one of another version.
Result<std::string> decode_report(ByteSpan frame);

// For the transport: take() and answer() on its thread, the first with its lock and the second
// without, since the report is made of what the transport says.
class Questions {
 public:
  // As Transport::answer_with.
  void answer_with(std::function<std::string()> report);
  // False: the key asks too often.
  bool take(Instant now, std::size_t key, std::string_view route);

  struct Answer {
    std::string route{};
    Bytes bytes{};
  };
  std::vector<Answer> answer();

 private:
  std::map<std::size_t, Instant> paid_until_;  // By key; each answer is paid with time.
  std::vector<std::string> routes_;
  std::mutex mutex_;
  std::function<std::string()> report_;
};

}  // namespace tessera
