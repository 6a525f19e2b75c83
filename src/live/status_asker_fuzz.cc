// Whoever reaches the status socket or the HTTP port asks what it likes, in pieces of any size: it
// is answered with words of ours, and only one that asks by this machine's name with the status.
#include "live/status_asker.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"

namespace tessera {
namespace {

void ask(StatusAsker::Manner manner, std::string_view question, std::size_t piece) {
  int ends[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  StatusAsker asker(ends[0], manner);
  bool goes_on = true;
  while (goes_on && !question.empty()) {
    const std::string_view part = question.substr(0, piece);
    question.remove_prefix(part.size());
    CHECK(::send(ends[1], part.data(), part.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(part.size()));
    goes_on = asker.go_on([](std::string_view) { return "fine"; });
  }
  ::shutdown(ends[1], SHUT_WR);
  while (goes_on) goes_on = asker.go_on([](std::string_view) { return "fine"; });
  char reply[512];
  const ssize_t got = ::recv(ends[1], reply, sizeof reply, MSG_DONTWAIT);
  const std::string_view said(reply, got > 0 ? static_cast<std::size_t>(got) : 0);
  CHECK((said.empty() || said == "fine" || said.starts_with("HTTP/1.0 ")));
  ::close(ends[1]);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  if (size == 0) return 0;
  const std::string_view question(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1 + data[0] * 4;
  ask(StatusAsker::Manner::kLocal, question, piece);
  ask(StatusAsker::Manner::kHttp, question, piece);
  ask(StatusAsker::Manner::kHttp, "GET /metrics HTTP/1.1\r\nHost:" + std::string(question), piece);
  return 0;
}
