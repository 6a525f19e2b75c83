#include "live/status_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "live/status_sockets.h"

namespace tessera {
namespace {

constexpr std::ptrdiff_t kAskersMax = 32;  // Of either manner at a time.

// Signals are for the node's own thread, so one that is made meanwhile is made deaf to them.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

StatusServer::Descriptors::~Descriptors() {
  for (const int open : {local, http, wake[0], wake[1]})
    if (open >= 0) ::close(open);
}

StatusServer::StatusServer(StatusServerOptions options, StatusAnswer answer)
    : options_(std::move(options)), answer_(std::move(answer)) {
  if (!options_.http_address.empty()) open_.http = listen_http(options_.http_address);
  open_.local = listen_locally(options_.socket);
  if (::pipe2(open_.wake, O_CLOEXEC) != 0)
    throw std::invalid_argument(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const SignalsHeld held;
  thread_ = std::thread([this] { serve(); });
}

StatusServer::~StatusServer() {
  ::close(std::exchange(open_.wake[1], -1));
  thread_.join();
  ::unlink(options_.socket.c_str());
}

void StatusServer::serve() {
  for (;;) {
    std::vector<pollfd> ready = watched();
    if (::poll(ready.data(), ready.size(), wait_max_ms()) < 0 && errno != EINTR) return;
    if (ready[0].revents != 0) return;
    go_on_with(ready);
    if ((ready[1].revents & POLLIN) != 0) let_in(open_.local, StatusAsker::Manner::kLocal);
    if ((ready[2].revents & POLLIN) != 0) let_in(open_.http, StatusAsker::Manner::kHttp);
  }
}

// The pipe, the listeners (-1 is passed over), and the askers in their order.
std::vector<pollfd> StatusServer::watched() const {
  std::vector<pollfd> watched;
  for (const int own : {open_.wake[0], open_.local, open_.http})
    watched.push_back({.fd = own, .events = POLLIN, .revents = 0});
  for (const StatusAsker& asker : askers_)
    watched.push_back({.fd = asker.connection(), .events = asker.awaits(), .revents = 0});
  return watched;
}

// Until the next asker's time is over.
int StatusServer::wait_max_ms() const {
  if (askers_.empty()) return -1;
  double least = 1;
  for (const StatusAsker& asker : askers_) least = std::min(least, asker.seconds_left());
  return std::max(0, static_cast<int>(least * 1e3) + 1);
}

void StatusServer::go_on_with(const std::vector<pollfd>& watched) {
  auto seen = watched.begin() + 3;
  for (auto asker = askers_.begin(); asker != askers_.end(); ++seen) {
    const bool over = (seen->revents != 0 && !asker->go_on(answer_)) || asker->seconds_left() <= 0;
    asker = over ? askers_.erase(asker) : std::next(asker);
  }
}

void StatusServer::let_in(int listener, StatusAsker::Manner manner) {
  const auto same = [&](const StatusAsker& asker) { return asker.manner() == manner; };
  const bool full = std::ranges::count_if(askers_, same) >= kAskersMax;
  if (full) askers_.erase(std::ranges::find_if(askers_, same));
  const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (connection >= 0) {
    askers_.emplace_back(connection, manner);
  } else if (errno == EMFILE || errno == ENFILE) {
    // It waits at the door, so poll would return at once; others may close something meanwhile.
    pollfd wake{.fd = open_.wake[0], .events = POLLIN, .revents = 0};
    ::poll(&wake, 1, 100);
  }
}

}  // namespace tessera
