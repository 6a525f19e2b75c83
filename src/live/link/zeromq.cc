#include "live/link/zeromq.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>

#include "live/link/frame.h"
#include "live/link/zeromq_sockets.h"

namespace tessera {
namespace {

constexpr std::size_t kFramesPerTurn = 64;  // From one socket, before the others have theirs.
constexpr int kFramesWaitingMax = 16;       // Received by ZeroMQ and not yet by us, per connection.
constexpr int kFrameBytesMax = static_cast<int>(kChunkBytesMax) + 4096;
constexpr const char* kZapEndpoint = "inproc://zeromq.zap.01";

class ZeroMqCarrier final : public Carrier {
 public:
  explicit ZeroMqCarrier(const ZeroMqOptions& options);
  ~ZeroMqCarrier() override;

  void set_members(std::span<const Member> members) override;
  void connect(NodeId peer) override;
  void hang_up(NodeId peer, Duration linger) override;
  void send(NodeId peer, ByteSpan head, ByteSpan payload) override;
  void answer(const std::string& route, ByteSpan frame) override;
  void wait(Duration at_most) override;
  bool collect(CarrierEvents& events) override;
  void wake() override;

 private:
  void bind(const std::string& address);
  bool collect_frames(CarrierEvents& events);
  void collect_requests(CarrierEvents& events);
  void collect_silent_ends(CarrierEvents& events);
  void collect_answers(CarrierEvents& events);
  void admit(std::vector<zmq::message_t> request, CarrierEvents& events);
  std::size_t number_of_key(const std::string& key);

  KeyPair keys_;
  zmq::context_t context_;
  zmq::socket_t zap_, router_;
  Monitor router_monitor_;
  int wake_fd_;
  std::map<NodeId, Member> members_;
  std::map<std::string, NodeId, std::less<>> id_of_key_;
  std::vector<std::string> admitted_;  // Keys that were in the roster when they came, once each.
  std::map<NodeId, std::unique_ptr<Connection>> connections_;
  std::uint64_t connections_made_ = 0;
  std::set<std::uint32_t> spoke_;  // Connections to us, by descriptor, that got a frame through.
  std::uint64_t denied_ = 0;       // Strangers whose connection has not ended yet.
};

// As in a roster; empty when it is no key.
std::string key_text(const zmq::message_t& key) {
  std::array<char, 41> text{};
  if (key.size() != 32) return {};
  zmq_z85_encode(text.data(), key.data<std::uint8_t>(), key.size());
  return text.data();
}

ZeroMqCarrier::ZeroMqCarrier(const ZeroMqOptions& options)
    : keys_(options.keys),
      context_(options.link.io_threads),
      zap_(context_, zmq::socket_type::rep),
      router_(context_, zmq::socket_type::router),
      router_monitor_(context_, router_, ZMQ_EVENT_DISCONNECTED, "router"),
      wake_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  CHECK(wake_fd_ >= 0);
  context_.set(zmq::ctxopt::max_sockets, 16'384);  // Three per peer, where 1,023 is the default.
  zap_.set(zmq::sockopt::linger, 0);
  zap_.bind(kZapEndpoint);
  router_.set(zmq::sockopt::curve_server, true);
  router_.set(zmq::sockopt::curve_secretkey, keys_.secret_key);
  router_.set(zmq::sockopt::zap_domain, "tessera");
  router_.set(zmq::sockopt::linger, 0);
  router_.set(zmq::sockopt::rcvhwm, kFramesWaitingMax);
  router_.set(zmq::sockopt::sndhwm, kAnswersWaitingMax);
  router_.set(zmq::sockopt::maxmsgsize, std::int64_t{kFrameBytesMax});
  router_.set(zmq::sockopt::handshake_ivl, static_cast<int>(kHandshakeMax.count()));
  router_.set(zmq::sockopt::backlog, 1024);
  set_members(options.members);
  bind(options.bind_address);
}

ZeroMqCarrier::~ZeroMqCarrier() {
  connections_.clear();
  ::close(wake_fd_);
}

void ZeroMqCarrier::bind(const std::string& address) {
  router_.set(zmq::sockopt::ipv6, address.find('[') != std::string::npos);
  try {
    router_.bind("tcp://" + address);
  } catch (const zmq::error_t& error) {
    throw std::invalid_argument(fmt::format(
        "cannot listen on {}: {}. Is the port taken, or the address not this machine's?", address,
        error.what()));
  }
}

void ZeroMqCarrier::set_members(std::span<const Member> members) {
  members_.clear();
  id_of_key_.clear();
  for (const Member& member : members) {
    members_[member.id] = member;
    id_of_key_[member.public_key] = member.id;
  }
}

void ZeroMqCarrier::connect(NodeId peer) {
  const std::string name = fmt::format("connection-{}", connections_made_++);
  try {
    connections_[peer] = std::make_unique<Connection>(context_, members_.at(peer), keys_, name);
  } catch (const zmq::error_t&) {
    // Out of descriptors, or an address ZeroMQ cannot read. The link hears no answer, says so, and
    // tries again later.
  }
}

void ZeroMqCarrier::hang_up(NodeId peer, Duration linger) {
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(linger);
  found->second->dealer.set(zmq::sockopt::linger, static_cast<int>(milliseconds.count()));
  connections_.erase(found);
}

void ZeroMqCarrier::send(NodeId peer, ByteSpan head, ByteSpan payload) {
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  zmq::message_t message(head.size() + payload.size());
  std::memcpy(message.data(), head.data(), head.size());
  if (!payload.empty())
    std::memcpy(message.data<std::byte>() + head.size(), payload.data(), payload.size());
  // Fails only on a connection that broke, of which the monitor tells.
  (void)found->second->dealer.send(message, zmq::send_flags::dontwait);
}

void ZeroMqCarrier::answer(const std::string& route, ByteSpan frame) {
  // To a connection that is gone, or does not read, answers are dropped.
  if (router_.send(zmq::buffer(route), zmq::send_flags::dontwait | zmq::send_flags::sndmore))
    (void)router_.send(zmq::buffer(frame.data(), frame.size()), zmq::send_flags::dontwait);
}

void ZeroMqCarrier::wake() {
  const std::uint64_t one = 1;
  // The counter is full only when the thread has long been told.
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

void ZeroMqCarrier::wait(Duration at_most) {
  std::vector<zmq::pollitem_t> items = {{nullptr, wake_fd_, ZMQ_POLLIN, 0},
                                        {zap_.handle(), 0, ZMQ_POLLIN, 0},
                                        {router_.handle(), 0, ZMQ_POLLIN, 0},
                                        {router_monitor_.pair().handle(), 0, ZMQ_POLLIN, 0}};
  for (auto& [id, connection] : connections_) {
    items.push_back({connection->dealer.handle(), 0, ZMQ_POLLIN, 0});
    items.push_back({connection->monitor.pair().handle(), 0, ZMQ_POLLIN, 0});
  }
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();
  // An interrupted wait is a short one.
  zmq_poll(items.data(), static_cast<int>(items.size()), milliseconds);
  std::uint64_t count = 0;
  [[maybe_unused]] const auto drained = ::read(wake_fd_, &count, sizeof count);
}

bool ZeroMqCarrier::collect(CarrierEvents& events) {
  collect_requests(events);
  collect_answers(events);
  const bool more = collect_frames(events);
  collect_silent_ends(events);
  return more;
}

bool ZeroMqCarrier::collect_frames(CarrierEvents& events) {
  for (std::size_t i = 0; i < kFramesPerTurn; ++i) {
    std::vector<zmq::message_t> parts = receive_parts(router_);
    if (parts.empty()) return false;
    if (parts.size() != 2) {
      events.on_refused("multipart");
      continue;
    }
    spoke_.insert(static_cast<std::uint32_t>(parts[1].get(ZMQ_SRCFD)));
    // Set by our ZAP handler when the connection was admitted; nothing the peer says. Its key may
    // have left the roster since.
    const auto member = id_of_key_.find(admitted_[std::stoul(parts[1].gets("User-Id"))]);
    if (member == id_of_key_.end())
      events.on_refused("not-a-member");
    else
      events.on_frame(member->second, text_in(parts[0]), bytes_in(parts[1]));
  }
  return true;
}

void ZeroMqCarrier::collect_answers(CarrierEvents& events) {
  constexpr std::string_view kHandshakeFailed = "the handshake failed; is its key the roster's?";
  std::vector<std::pair<NodeId, std::string_view>> broken;
  for (auto& [id, connection] : connections_) {
    for (std::size_t i = 0; i < kFramesPerTurn; ++i) {
      const std::vector<zmq::message_t> parts = receive_parts(connection->dealer);
      if (parts.empty()) break;
      if (parts.size() == 1)
        events.on_answer(id, bytes_in(parts[0]));
      else
        events.on_refused("multipart");
    }
    if (const std::optional<Monitor::Event> ended = connection->monitor.next()) {
      const std::uint16_t event = ended->kind;
      const bool handshake = (event & (ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED)) == 0;
      broken.emplace_back(id, handshake                         ? kHandshakeFailed
                              : event == ZMQ_EVENT_DISCONNECTED ? "the connection broke"
                                                                : "connection refused");
    }
  }
  // Their handler hangs up, which changes the map.
  for (const auto& [id, why] : broken) events.on_disconnected(id, why);
}

// ZeroMQ reports some failed handshakes and not others, but the end of every connection. One that
// ends without having said anything never got through.
void ZeroMqCarrier::collect_silent_ends(CarrierEvents& events) {
  for (std::size_t i = 0; i < kFramesPerTurn; ++i) {
    const std::optional<Monitor::Event> event = router_monitor_.next();
    if (!event) return;
    if (spoke_.erase(event->value) > 0) continue;
    if (denied_ > 0)
      --denied_;  // Counted as a stranger already.
    else
      events.on_refused("handshake");
  }
}

void ZeroMqCarrier::collect_requests(CarrierEvents& events) {
  for (std::size_t i = 0; i < kFramesPerTurn; ++i) {
    std::vector<zmq::message_t> request = receive_parts(zap_);
    if (request.empty()) return;
    admit(std::move(request), events);
  }
}

std::size_t ZeroMqCarrier::number_of_key(const std::string& key) {
  const auto found = std::find(admitted_.begin(), admitted_.end(), key);
  if (found != admitted_.end()) return static_cast<std::size_t>(found - admitted_.begin());
  admitted_.push_back(key);
  return admitted_.size() - 1;
}

// ZAP (ZeroMQ RFC 27): version, request id, domain, address, identity, mechanism, credentials. The
// answer carries the user id that ZeroMQ attaches to every frame of the connection: the key's
// number, not its member's, since whose it is may change while the connection lasts.
void ZeroMqCarrier::admit(std::vector<zmq::message_t> request, CarrierEvents& events) {
  std::string user;
  if (request.size() == 7 && text_in(request[5]) == "CURVE") {
    const std::string key = key_text(request[6]);
    if (id_of_key_.contains(key)) user = std::to_string(number_of_key(key));
  }
  if (user.empty()) {
    ++denied_;
    events.on_refused("unknown-key");
  }
  const std::string id = request.size() > 1 ? text_in(request[1]) : std::string();
  const std::array<std::string, 6> reply = {
      "1.0", id, user.empty() ? "400" : "200", user.empty() ? "not in the roster" : "", user, ""};
  for (std::size_t i = 0; i < reply.size(); ++i)
    zap_.send(zmq::buffer(reply[i]),
              i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none);
}

std::string default_bind_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon);
  if (host == "localhost" || host.starts_with("127.")) return "127.0.0.1" + port;
  if (host.starts_with('[')) return host + port;
  return "*" + port;
}

}  // namespace

std::unique_ptr<Carrier> make_zeromq_carrier(const ZeroMqOptions& options) {
  ZeroMqOptions resolved = options;
  const Member* self = nullptr;
  for (const Member& member : options.members)
    if (member.id == options.self) self = &member;
  if (self == nullptr)
    throw std::invalid_argument(fmt::format("the roster has no member with id {}", options.self));
  if (self->public_key != options.keys.public_key)
    throw std::invalid_argument(
        fmt::format("our key is not the one the roster has for {}: use its key file, or give the "
                    "roster our public key",
                    self->name));
  if (resolved.bind_address.empty()) resolved.bind_address = default_bind_address(self->address);
  return std::make_unique<ZeroMqCarrier>(resolved);
}

std::unique_ptr<Transport> make_zeromq_transport(ZeroMqOptions options) {
  std::unique_ptr<Carrier> carrier = make_zeromq_carrier(options);
  return std::make_unique<Transport>(options.self, options.members, options.link,
                                     std::move(carrier));
}

}  // namespace tessera
