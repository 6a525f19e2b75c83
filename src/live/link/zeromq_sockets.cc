#include "live/link/zeromq_sockets.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "live/link/frame.h"

namespace tessera {
namespace {

static_assert(kFrameBytesMax == kChunkBytesMax + 4096);
// ZMQ_ZAP_ENFORCE_DOMAIN, which zmq.h hides among its drafts.
constexpr int kZapEnforceDomain = 93;

zmq::socket_t make_dealer(zmq::context_t& context, const Member& peer, const std::string& address,
                          const Connection::Options& options) {
  zmq::socket_t dealer(context, zmq::socket_type::dealer);
  dealer.set(zmq::sockopt::curve_serverkey, peer.public_key);
  dealer.set(zmq::sockopt::curve_publickey, options.keys.public_key);
  dealer.set(zmq::sockopt::curve_secretkey, options.keys.secret_key);
  dealer.set(zmq::sockopt::linger, 0);
  dealer.set(zmq::sockopt::sndhwm, 0);  // Bounded in bytes by Outbox instead.
  dealer.set(zmq::sockopt::rcvhwm, options.answers_waiting_max);
  dealer.set(zmq::sockopt::maxmsgsize, options.answer_bytes_max);
  dealer.set(zmq::sockopt::reconnect_ivl, -1);  // Reconnecting is the link's business.
  dealer.set(zmq::sockopt::handshake_ivl, static_cast<int>(kHandshakeMax.count()));
  dealer.set(zmq::sockopt::ipv6, address.find('[') != std::string::npos);
  return dealer;
}

constexpr int kEndings = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                         ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;

}  // namespace

Conduct::Counts counts_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {.received = info.tcpi_bytes_received,
          .arrived = info.tcpi_bytes_acked,
          .all_arrived = info.tcpi_notsent_bytes == 0 && info.tcpi_unacked == 0};
}

std::vector<zmq::message_t> receive_parts(zmq::socket_t& socket) {
  std::vector<zmq::message_t> parts;
  do {
    zmq::message_t part;
    if (!socket.recv(part, zmq::recv_flags::dontwait)) return {};
    parts.push_back(std::move(part));
  } while (parts.back().more());
  return parts;
}

zmq::socket_t make_router(zmq::context_t& context, const KeyPair& keys) {
  zmq::socket_t router(context, zmq::socket_type::router);
  router.set(zmq::sockopt::curve_server, true);
  router.set(zmq::sockopt::curve_secretkey, keys.secret_key);
  router.set(zmq::sockopt::zap_domain, "tessera");
  const int enforce = 1;
  if (zmq_setsockopt(router.handle(), kZapEnforceDomain, &enforce, sizeof enforce) != 0)
    throw zmq::error_t();
  router.set(zmq::sockopt::linger, 0);
  router.set(zmq::sockopt::rcvhwm, kFramesWaitingMax);
  router.set(zmq::sockopt::sndhwm, kAnswersWaitingMax);
  router.set(zmq::sockopt::maxmsgsize, kFrameBytesMax);
  // Says when there is no room, or nobody, instead of dropping in silence.
  router.set(zmq::sockopt::router_mandatory, true);
  router.set(zmq::sockopt::handshake_ivl, static_cast<int>(kGuestHandshakeMax.count()));
  router.set(zmq::sockopt::backlog, 1024);
  return router;
}

Monitor::Monitor(zmq::context_t& context, zmq::socket_t& watched, int events,
                 const std::string& name)
    : watched_(watched), pair_(context, zmq::socket_type::pair) {
  const std::string endpoint = "inproc://" + name;
  if (zmq_socket_monitor(watched.handle(), endpoint.c_str(), events) != 0) throw zmq::error_t();
  pair_.set(zmq::sockopt::linger, 0);
  pair_.connect(endpoint);
}

Monitor::~Monitor() {
  zmq_socket_monitor(watched_.handle(), nullptr, 0);
}

std::optional<Monitor::Event> Monitor::next() {
  const std::vector<zmq::message_t> parts = receive_parts(pair_);
  if (parts.empty()) return std::nullopt;
  ByteReader in(bytes_in(parts[0]));
  Event event;
  event.kind = in.get<std::uint16_t>();
  event.value = in.get<std::uint32_t>();
  return event;
}

Connection::Connection(zmq::context_t& context, const Member& peer, const std::string& address,
                       const Options& options, const std::string& name)
    : dealer(make_dealer(context, peer, address, options)),
      monitor(context, dealer, kEndings | ZMQ_EVENT_CONNECTED, name),
      conduct_limits(options.conduct) {
  dealer.connect("tcp://" + address);
}

std::optional<std::uint16_t> Connection::take_end() {
  while (const std::optional<Monitor::Event> event = monitor.next()) {
    if (event->kind != ZMQ_EVENT_CONNECTED) return descriptor.reset(), event->kind;
    descriptor = static_cast<int>(event->value);
  }
  return std::nullopt;
}

std::string_view Connection::fault() {
  return descriptor ? conduct.fault(counts_of(*descriptor), conduct_limits) : std::string_view{};
}

}  // namespace tessera
