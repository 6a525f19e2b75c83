#include "live/link/zeromq.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "live/link/descriptors.h"
#include "live/link/zeromq_dials.h"
#include "live/link/zeromq_door.h"

namespace tessera {
namespace {

// A file that can be waited for and that any thread can make ready.
class WakeUp {
 public:
  WakeUp() : descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { CHECK(descriptor_ >= 0); }
  ~WakeUp() { ::close(descriptor_); }
  WakeUp(const WakeUp&) = delete;
  WakeUp& operator=(const WakeUp&) = delete;

  int descriptor() const { return descriptor_; }
  void ring() {
    const std::uint64_t one = 1;
    // The counter is full only when the thread has long been told.
    [[maybe_unused]] const auto written = ::write(descriptor_, &one, sizeof one);
  }
  void silence() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto drained = ::read(descriptor_, &count, sizeof count);
  }

 private:
  int descriptor_;
};

// Who keeps the rules has no more unread than what may be in flight, and a few answers.
Conduct::Limits conduct_limits(const TransportOptions& link) {
  Conduct::Limits limits;
  limits.unread_bytes_max += link.in_flight_bytes_max;
  return limits;
}

// Connections that have not shown a key take a quarter of the descriptors at most.
Visitors::Limits visitor_limits(const TransportOptions& link) {
  return {.silent_max = std::clamp<std::size_t>(raise_descriptor_limit() / 4, 16, 1024),
          .conduct = conduct_limits(link)};
}

// Throws std::invalid_argument where the roster does not know us.
const Member& self_of(const ZeroMqOptions& options) {
  const auto self = std::ranges::find(options.members, options.self, &Member::id);
  if (self == options.members.end())
    throw std::invalid_argument(fmt::format("the roster has no member with id {}", options.self));
  return *self;
}

class ZeroMqCarrier final : public Carrier {
 public:
  explicit ZeroMqCarrier(const ZeroMqOptions& options)
      : context_(context_of(options.link.io_threads)),
        door_(context_, options.keys, options.bind_address, visitor_limits(options.link)),
        dials_(context_, dialling(options), options.look_up, [this] { wake_up_.ring(); }) {
    set_members(options.members);
    set_observers(options.observers);
  }

  void set_members(std::span<const Member> members) override {
    door_.set_members(members);
    dials_.set_members(members);
  }
  void set_observers(std::span<const RosterObserver> observers) override {
    door_.set_observers(observers);
  }
  void set_guests(std::span<const std::string> keys) override { door_.set_guests(keys); }
  void connect(NodeId peer) override { dials_.connect(peer); }
  void hang_up(NodeId peer, Duration linger) override { dials_.hang_up(peer, linger); }
  void send(NodeId peer, ByteSpan head, ByteSpan payload) override {
    dials_.send(peer, head, payload);
  }
  bool answer(const std::string& route, ByteSpan frame) override {
    return door_.answer(route, frame);
  }

  void wait(Duration at_most) override {
    std::vector<zmq::pollitem_t> items = {{nullptr, wake_up_.descriptor(), ZMQ_POLLIN, 0}};
    door_.watch(items);
    dials_.watch(items);
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
    // An interrupted wait is a short one.
    zmq_poll(items.data(), static_cast<int>(items.size()), milliseconds);
    wake_up_.silence();
  }
  bool collect(CarrierEvents& events) override {
    dials_.collect(events);
    return door_.collect(events);
  }
  void wake() override { wake_up_.ring(); }

 private:
  // Who dials out is told everything on the connections it makes.
  static Connection::Options dialling(const ZeroMqOptions& options) {
    Connection::Options dialled{.keys = options.keys, .conduct = conduct_limits(options.link)};
    if (!self_of(options).dials_out()) return dialled;
    dialled.answer_bytes_max = kFrameBytesMax;
    dialled.answers_waiting_max = kFramesWaitingMax;
    return dialled;
  }
  static zmq::context_t context_of(int io_threads) {
    zmq::context_t context(io_threads);
    context.set(zmq::ctxopt::max_sockets, 16'384);  // Three per peer, where 1,023 is the default.
    return context;
  }

  WakeUp wake_up_;
  zmq::context_t context_;
  Door door_;
  Dials dials_;
};

std::string default_bind_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon);
  if (host == "localhost" || host.starts_with("127.")) return "127.0.0.1" + port;
  if (host == "ip6-localhost" || host == "ip6-loopback") return "[::1]" + port;
  if (host.starts_with('[')) return host + port;
  return "*" + port;
}

}  // namespace

std::unique_ptr<Carrier> make_zeromq_carrier(const ZeroMqOptions& options) {
  ZeroMqOptions resolved = options;
  const Member* const self = &self_of(options);
  if (self->public_key != options.keys.public_key)
    throw std::invalid_argument(
        fmt::format("our key is not the one the roster has for {}: use its key file, or give the "
                    "roster our public key",
                    self->name));
  if (self->dials_out())
    resolved.bind_address.clear();
  else if (resolved.bind_address.empty())
    resolved.bind_address = default_bind_address(self->address);
  return std::make_unique<ZeroMqCarrier>(resolved);
}

std::unique_ptr<Transport> make_zeromq_transport(ZeroMqOptions options) {
  std::unique_ptr<Carrier> carrier = make_zeromq_carrier(options);
  return std::make_unique<Transport>(options.self, options.members, options.link,
                                     std::move(carrier));
}

}  // namespace tessera
