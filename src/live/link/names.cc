#include "live/link/names.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

namespace tessera {

HostAndPort split_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == address.npos) return {address, {}};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

bool is_numeric(std::string_view host) {
  in_addr numbers{};
  return host.starts_with('[') || ::inet_pton(AF_INET, std::string(host).c_str(), &numbers) == 1;
}

Result<NumericHosts> look_up_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int fault = ::getaddrinfo(host.c_str(), nullptr, &hints, &first); fault != 0)
    return Error{"name", fmt::format("no address is known for {}: {}", host, gai_strerror(fault))};
  NumericHosts four, six;
  for (const addrinfo* at = first; at != nullptr; at = at->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(at->ai_addr, at->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
      continue;
    if (at->ai_family == AF_INET) four.emplace_back(text.data());
    if (at->ai_family == AF_INET6) six.push_back(fmt::format("[{}]", text.data()));
  }
  ::freeaddrinfo(first);
  four.insert(four.end(), six.begin(), six.end());
  if (four.empty()) return Error{"name", fmt::format("no address is known for {}", host)};
  return four;
}

struct Names::State {
  LookUp look_up;
  std::mutex mutex;
  std::function<void()> on_found;  // None once nobody asks any more.
  std::set<std::string> under_way;
  std::vector<Found> found;

  void settle(const std::string& host, Result<NumericHosts> addresses) {
    const std::lock_guard lock(mutex);
    under_way.erase(host);
    found.push_back({host, std::move(addresses)});
    if (on_found) on_found();
  }
};

Names::Names(LookUp look_up, std::function<void()> on_found) : state_(std::make_shared<State>()) {
  state_->look_up = std::move(look_up);
  state_->on_found = std::move(on_found);
}

Names::~Names() {
  const std::lock_guard lock(state_->mutex);
  state_->on_found = nullptr;
}

void Names::ask(const std::string& host) {
  {
    const std::lock_guard lock(state_->mutex);
    if (!state_->under_way.insert(host).second) return;
  }
  try {
    // Not joined: nothing ends a lookup early, and who closes a transport does not wait for one.
    std::thread([state = state_, host] { state->settle(host, state->look_up(host)); }).detach();
  } catch (const std::system_error& error) {
    state_->settle(host, Error{"name", fmt::format("cannot look up {}: {}", host, error.what())});
  }
}

std::vector<Names::Found> Names::take_found() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->found, {});
}

}  // namespace tessera
