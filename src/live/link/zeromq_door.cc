#include "live/link/zeromq_door.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "live/link/knocks.h"
#include "live/link/names.h"
#include "live/link/questions.h"

namespace tessera {
namespace {

constexpr std::size_t kPerTurn = 64;  // Of one kind, before the others have their turn.

// As in a roster; empty when it is no key.
std::string key_text(const zmq::message_t& key) {
  std::array<char, 41> text{};
  if (key.size() != 32) return {};
  zmq_z85_encode(text.data(), key.data<std::uint8_t>(), key.size());
  return text.data();
}

// The port of this side; 0 where the descriptor is no TCP connection.
int local_port(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET)
    return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  return 0;
}

}  // namespace

Door::Door(zmq::context_t& context, const KeyPair& keys, const std::string& address,
           Visitors::Limits limits)
    : zap_(context, zmq::socket_type::rep),
      router_(make_router(context, keys)),
      monitor_(context, router_, ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_DISCONNECTED, "router"),
      visitors_(limits),
      looks_(limits.conduct) {
  zap_.set(zmq::sockopt::linger, 0);
  zap_.bind(kZapEndpoint);
  if (!address.empty()) bind(address);
}

// On every interface means IPv6 ones too, where the system has it.
void Door::bind(const std::string& address) {
  const bool six = address.find('[') != std::string::npos || address.starts_with('*');
  router_.set(zmq::sockopt::ipv6, six);
  try {
    router_.bind("tcp://" + address);
  } catch (const zmq::error_t& error) {
    throw std::invalid_argument(fmt::format(
        "cannot listen on {}: {}. Is the port taken, or the address not this machine's?", address,
        error.what()));
  }
  port_ = std::stoi(std::string(split_address(router_.get(zmq::sockopt::last_endpoint)).port));
}

void Door::set_members(std::span<const Member> members) {
  id_of_key_.clear();
  for (const Member& member : members) id_of_key_[member.public_key] = member.id;
  // What we say to those who dial out, a goodbye at last, goes by this socket.
  const bool speaks = std::ranges::any_of(members, &Member::dials_out);
  router_.set(zmq::sockopt::linger, speaks ? static_cast<int>(kLastWordMax.count()) : 0);
  show_out_those_no_longer_in();
}

void Door::set_observers(std::span<const RosterObserver> observers) {
  observers_.clear();
  for (const RosterObserver& observer : observers) observers_.insert(observer.public_key);
  show_out_those_no_longer_in();
}

void Door::set_guests(std::span<const std::string> keys) {
  guests_ = {keys.begin(), keys.end()};
  show_out_those_no_longer_in();
}

bool Door::may_enter(const std::string& key) const {
  return id_of_key_.contains(key) || observers_.contains(key) || guests_.contains(key);
}

void Door::show_out_those_no_longer_in() {
  for (std::size_t key = 0; key < admitted_.size(); ++key)
    if (!may_enter(admitted_[key])) show_out(visitors_.take_all_of(key));
}

// ZeroMQ owns the descriptors and reports their end; it may have ended one and taken its number
// for another since. So only connections to our port are broken, and a member that is shown out
// for another's sake connects again.
void Door::show_out(std::span<const int> descriptors) {
  for (const int descriptor : descriptors)
    if (local_port(descriptor) == port_) ::shutdown(descriptor, SHUT_RDWR);
}

bool Door::answer(const std::string& route, ByteSpan frame) {
  const auto more = zmq::send_flags::dontwait | zmq::send_flags::sndmore;
  try {
    const bool taken =
        router_.send(zmq::buffer(route), more) &&
        router_.send(zmq::buffer(frame.data(), frame.size()), zmq::send_flags::dontwait);
    if (taken) {
      visitors_.answered(route, frame.size());
      looks_.frame_went(frame.size());
    }
    return taken;
  } catch (const zmq::error_t&) {
    return false;  // The connection is gone.
  }
}

void Door::watch(std::vector<zmq::pollitem_t>& items) {
  for (zmq::socket_t* socket : {&zap_, &router_, &monitor_.pair()})
    items.push_back({socket->handle(), 0, ZMQ_POLLIN, 0});
}

bool Door::collect(CarrierEvents& events) {
  collect_requests(events);
  const bool more = collect_frames(events);
  collect_comings_and_goings(events);
  show_out(visitors_.take_surplus());
  show_out_misbehaved(events);
  return more;
}

void Door::show_out_misbehaved(CarrierEvents& events) {
  if (!looks_.is_time(clock_.now())) return;
  for (const Visitors::Misbehaved& visitor : visitors_.take_misbehaved(counts_of)) {
    show_out({&visitor.descriptor, 1});
    const auto member = visitor.key ? id_of_key_.find(admitted_[*visitor.key]) : id_of_key_.end();
    if (member != id_of_key_.end())
      events.on_misconduct(member->second, visitor.word);
    else
      events.on_refused(visitor.word);
  }
}

bool Door::collect_frames(CarrierEvents& events) {
  for (std::size_t i = 0; i < kPerTurn; ++i) {
    std::vector<zmq::message_t> parts = receive_parts(router_);
    if (parts.empty()) return false;
    // Set by our ZAP handler when the connection was admitted; nothing the peer says. Its key may
    // have left the roster since.
    const std::size_t key = std::stoul(parts.back().gets("User-Id"));
    const int descriptor = parts.back().get(ZMQ_SRCFD);
    visitors_.spoke(descriptor, key, text_in(parts[0]));
    take(key, parts, events);
  }
  return true;
}

// An observer that says anything but its question is shown out, and so is a guest that does
// anything but knock.
void Door::take(std::size_t key, const std::vector<zmq::message_t>& parts, CarrierEvents& events) {
  const auto member = id_of_key_.find(admitted_[key]);
  const bool observes = observers_.contains(admitted_[key]);
  const bool is_guest = member == id_of_key_.end() && !observes && guests_.contains(admitted_[key]);
  if (is_guest && parts.size() == 2 && is_knock(bytes_in(parts[1]))) {
    events.on_knock(admitted_[key], text_in(parts[0]), bytes_in(parts[1]));
  } else if (is_guest) {
    events.on_refused("guest");
    show_out(visitors_.take_all_of(key));
  } else if (member == id_of_key_.end() && !observes) {
    events.on_refused("not-a-member");
    show_out(visitors_.take_all_of(key));
  } else if (parts.size() == 2 && is_question(bytes_in(parts[1]))) {
    events.on_question(key, text_in(parts[0]));
  } else if (observes) {
    events.on_refused("observer");
    show_out(visitors_.take_all_of(key));
  } else if (parts.size() != 2) {
    events.on_refused("multipart");
  } else {
    events.on_frame(member->second, text_in(parts[0]), bytes_in(parts[1]));
  }
}

// ZeroMQ reports some failed handshakes and not others, but the end of every connection. One that
// ends without having said anything never got through.
void Door::collect_comings_and_goings(CarrierEvents& events) {
  for (std::size_t i = 0; i < kPerTurn; ++i) {
    const std::optional<Monitor::Event> event = monitor_.next();
    if (!event) return;
    const int descriptor = static_cast<int>(event->value);
    if (event->kind == ZMQ_EVENT_ACCEPTED)
      visitors_.came(descriptor);
    else if (visitors_.left(descriptor))
      continue;
    else if (denied_ > 0)
      --denied_;  // Counted as a stranger already.
    else
      events.on_refused("handshake");
  }
}

void Door::collect_requests(CarrierEvents& events) {
  for (std::size_t i = 0; i < kPerTurn; ++i) {
    std::vector<zmq::message_t> request = receive_parts(zap_);
    if (request.empty()) return;
    admit(std::move(request), events);
  }
}

std::size_t Door::number_of_key(const std::string& key) {
  const auto found = std::find(admitted_.begin(), admitted_.end(), key);
  if (found != admitted_.end()) return static_cast<std::size_t>(found - admitted_.begin());
  admitted_.push_back(key);
  return admitted_.size() - 1;
}

// ZAP (ZeroMQ RFC 27): version, request id, domain, address, identity, mechanism, credentials. The
// answer carries the user id that ZeroMQ attaches to every frame of the connection: the key's
// number, not its member's, since whose it is may change while the connection lasts.
void Door::admit(std::vector<zmq::message_t> request, CarrierEvents& events) {
  std::string user;
  if (request.size() == 7 && text_in(request[5]) == "CURVE") {
    const std::string key = key_text(request[6]);
    if (may_enter(key)) user = std::to_string(number_of_key(key));
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

}  // namespace tessera
