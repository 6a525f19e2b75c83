#include "live/status_asker.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

namespace tessera {
namespace {

struct Question {
  std::string_view end{};
  std::size_t length_max = 0;
};
Question question_in(StatusAsker::Manner manner) {
  return manner == StatusAsker::Manner::kLocal ? Question{"\n", 64} : Question{"\r\n\r\n", 8192};
}

// The value of the header Host, without its port; empty when there is none.
std::string host_in(std::string_view request) {
  std::string lower(request);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kName = "\r\nhost:";
  const std::size_t at = lower.find(kName);
  if (at == lower.npos) return {};
  std::string host = lower.substr(at + kName.size());
  host.erase(std::min(host.find("\r\n"), host.size()));
  std::erase_if(host, [](char c) { return c == ' ' || c == '\t'; });
  const std::size_t colon = host.rfind(':');
  if (colon != host.npos && host.back() != ']') host.erase(colon);
  return host;
}

// Another site's page could have its own name resolve to this machine; its requests then carry that
// name.
bool is_for_this_machine(std::string_view request) {
  const std::string host = host_in(request);
  return host.empty() || host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

std::string http(std::string_view code, std::string_view body) {
  return fmt::format(
      "HTTP/1.0 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      code, body.size(), body);
}

std::string http_reply(std::string_view request, const StatusAnswer& answer) {
  if (!is_for_this_machine(request))
    return http("403 Forbidden", "only this machine's own names and addresses are answered\n");
  if (!request.starts_with("GET /metrics ") && !request.starts_with("GET / "))
    return http("404 Not Found", "only GET /metrics is answered here\n");
  return http("200 OK", answer("prometheus"));
}

}  // namespace

StatusAsker::~StatusAsker() {
  ::close(connection_);
}

short StatusAsker::awaits() const {
  return replying_ ? POLLOUT : POLLIN;
}

bool StatusAsker::go_on(const StatusAnswer& answer) {
  if (replying_) return write_more();
  if (read_more()) return true;
  reply_ = reply_to(answer);
  replying_ = true;
  watch_.restart();
  return write_more();
}

// Whether the question is not over yet.
bool StatusAsker::read_more() {
  char buffer[512];
  const ssize_t got = ::recv(connection_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  question_.append(buffer, static_cast<std::size_t>(got));
  const auto [end, length_max] = question_in(manner_);
  return got > 0 && question_.size() < length_max && question_.find(end) == question_.npos;
}

// Whether some of the reply is left.
bool StatusAsker::write_more() {
  if (reply_.empty()) return false;
  const ssize_t put =
      ::send(connection_, reply_.data(), reply_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (put < 0) return errno == EAGAIN || errno == EINTR;
  reply_.erase(0, static_cast<std::size_t>(put));
  return !reply_.empty();
}

std::string StatusAsker::reply_to(const StatusAnswer& answer) const {
  if (manner_ == Manner::kHttp) return http_reply(question_, answer);
  std::string format = question_;
  while (!format.empty() && (format.back() == '\n' || format.back() == '\r')) format.pop_back();
  const bool known = format == "text" || format == "json" || format == "prometheus";
  return known ? answer(format) : std::string();
}

}  // namespace tessera
