// The addresses of hosts that go by a name. A name server may take half a minute to answer, or
// never do; so every name is looked up on a thread of its own, and one that is not answered keeps
// nobody else waiting.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tessera {

// As the carrier's sockets want them: 10.0.0.1, or [fd00::2].
using NumericHosts = std::vector<std::string>;
using LookUp = std::function<Result<NumericHosts>(const std::string& host)>;

// Asks the system, and waits. IPv4 first: most programs listen there. Errors: "name".
Result<NumericHosts> look_up_host(const std::string& host);

struct HostAndPort {
  std::string_view host{};
  std::string_view port{};
};
HostAndPort split_address(std::string_view address);
bool is_numeric(std::string_view host);

class Names {
 public:
  // `on_found` is called from any thread, when there is something to take.
  Names(LookUp look_up, std::function<void()> on_found);
  // Does not wait for those that are still looked up.
  ~Names();
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // Once at a time: a name that is being looked up is not looked up again beside it.
  void ask(const std::string& host);

  struct Found {
    std::string host{};
    Result<NumericHosts> addresses;
  };
  std::vector<Found> take_found();

 private:
  struct State;
  std::shared_ptr<State> state_;  // The threads' too.
};

}  // namespace tessera
