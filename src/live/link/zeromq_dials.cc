#include "live/link/zeromq_dials.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t kAnswersPerTurn = 64;  // From one socket, before the others have theirs.

std::string_view explain(std::uint16_t ended) {
  if (ended == ZMQ_EVENT_DISCONNECTED) return "the connection broke";
  if (ended == ZMQ_EVENT_CLOSED) return "connection refused";
  return "the handshake failed; is its key the roster's?";
}

}  // namespace

void Dials::set_members(std::span<const Member> members) {
  members_.clear();
  for (const Member& member : members) members_[member.id] = member;
  std::erase_if(waiting_, [&](const auto& waits) { return !members_.contains(waits.first); });
}

void Dials::connect(NodeId peer) {
  const std::string& address = members_.at(peer).address;
  const std::string_view host = split_address(address).host;
  if (is_numeric(host)) return open(peer, address);
  waiting_[peer];
  names_.ask(std::string(host));
}

void Dials::open(NodeId peer, const std::string& address) {
  const std::string name = fmt::format("connection-{}", connections_made_++);
  try {
    connections_[peer] =
        std::make_unique<Connection>(context_, members_.at(peer), address, options_, name);
  } catch (const zmq::error_t&) {
    // Out of descriptors, or an address ZeroMQ cannot read. The link hears no answer, says so, and
    // tries again later.
    connections_.erase(peer);
  }
}

void Dials::hang_up(NodeId peer, Duration linger) {
  waiting_.erase(peer);
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  if (!found->second->answered) ++unanswered_[peer];
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(linger);
  found->second->dealer.set(zmq::sockopt::linger, static_cast<int>(milliseconds.count()));
  connections_.erase(found);
}

void Dials::send(NodeId peer, ByteSpan head, ByteSpan payload) {
  // Until it has an answer a link says no more than its hello.
  if (const auto waits = waiting_.find(peer); waits != waiting_.end()) {
    Bytes& frame = waits->second.emplace_back(head.begin(), head.end());
    return ByteWriter(frame).put_bytes(payload);
  }
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  zmq::message_t message(head.size() + payload.size());
  std::memcpy(message.data(), head.data(), head.size());
  if (!payload.empty())
    std::memcpy(message.data<std::byte>() + head.size(), payload.data(), payload.size());
  // Fails only on a connection that broke, of which the monitor tells.
  (void)found->second->dealer.send(message, zmq::send_flags::dontwait);
  found->second->conduct.frame_went(head.size() + payload.size());
  looks_.frame_went(head.size() + payload.size());
}

void Dials::watch(std::vector<zmq::pollitem_t>& items) {
  for (auto& [id, connection] : connections_) {
    items.push_back({connection->dealer.handle(), 0, ZMQ_POLLIN, 0});
    items.push_back({connection->monitor.pair().handle(), 0, ZMQ_POLLIN, 0});
  }
}

void Dials::collect(CarrierEvents& events) {
  collect_names(events);
  collect_answers(events);
}

void Dials::collect_names(CarrierEvents& events) {
  for (const Names::Found& found : names_.take_found()) {
    std::vector<NodeId> peers;
    for (const auto& [peer, frames] : waiting_)
      if (split_address(members_.at(peer).address).host == found.host) peers.push_back(peer);
    for (const NodeId peer : peers) {
      if (!found.addresses) {
        events.on_disconnected(peer, found.addresses.error().message);  // Which hangs up.
        continue;
      }
      const std::vector<Bytes> frames = std::exchange(waiting_[peer], {});
      waiting_.erase(peer);
      const std::size_t turn = unanswered_[peer] % found.addresses->size();
      open(peer, fmt::format("{}:{}", (*found.addresses)[turn],
                             split_address(members_.at(peer).address).port));
      for (const Bytes& frame : frames) send(peer, frame, {});
    }
  }
}

void Dials::collect_answers(CarrierEvents& events) {
  const bool looks = looks_.is_time(clock_.now());
  std::vector<std::pair<NodeId, std::string_view>> broken;
  std::vector<std::pair<NodeId, std::string_view>> misbehaved;
  for (auto& [id, connection] : connections_) {
    for (std::size_t i = 0; i < kAnswersPerTurn; ++i) {
      const std::vector<zmq::message_t> parts = receive_parts(connection->dealer);
      if (parts.empty()) break;
      connection->answered = true;
      connection->conduct.frame_came();
      if (parts.size() == 1)
        events.on_answer(id, bytes_in(parts[0]));
      else
        events.on_refused("multipart");
    }
    if (const std::optional<std::uint16_t> ended = connection->take_end())
      broken.emplace_back(id, explain(*ended));
    else if (const std::string_view word = looks ? connection->fault() : ""; !word.empty())
      misbehaved.emplace_back(id, word);
  }
  // Their handlers hang up, which changes the map.
  for (const auto& [id, why] : broken) events.on_disconnected(id, why);
  for (const auto& [id, word] : misbehaved) events.on_misconduct(id, word);
}

}  // namespace tessera
