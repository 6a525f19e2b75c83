#include "live/link/loopback.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace tessera {
namespace {

struct LoopbackEvent {
  enum class Kind { frame, answer, disconnected } kind = Kind::frame;
  NodeId from = 0;
  std::uint64_t connection = 0;
  Bytes bytes{};
};

}  // namespace

// One lock for the whole network: it is for tests, where being right is worth more than being fast.
struct LoopbackNetwork::Hub {
  struct Port {
    std::deque<LoopbackEvent> events{};
    bool woken = false;
    std::map<NodeId, std::uint64_t> connections{};  // Ours, by peer.
  };

  std::mutex mutex;
  std::condition_variable news;
  std::map<NodeId, Port> ports;
  std::set<std::pair<NodeId, NodeId>> broken;
  std::map<std::uint64_t, NodeId> owners;  // Of the connections that stand.
  std::uint64_t connections_made = 0;

  bool can_reach(NodeId a, NodeId b) const {
    return ports.contains(b) && !broken.contains(std::minmax(a, b));
  }
  void break_connection(NodeId owner, NodeId peer) {
    Port& port = ports[owner];
    const auto found = port.connections.find(peer);
    if (found == port.connections.end()) return;
    owners.erase(found->second);
    port.events.push_back({LoopbackEvent::Kind::disconnected, peer, found->second, {}});
    port.connections.erase(found);
  }
};

namespace {

using Hub = LoopbackNetwork::Hub;

class LoopbackCarrier final : public Carrier {
 public:
  LoopbackCarrier(std::shared_ptr<Hub> hub, NodeId self) : hub_(std::move(hub)), self_(self) {
    const std::lock_guard lock(hub_->mutex);
    hub_->ports[self_];
  }
  // As a process that ends: every connection to and from it breaks.
  ~LoopbackCarrier() override {
    const std::lock_guard lock(hub_->mutex);
    for (const auto& [peer, connection] : hub_->ports[self_].connections)
      hub_->owners.erase(connection);
    hub_->ports.erase(self_);
    for (auto& [id, port] : hub_->ports) hub_->break_connection(id, self_);
    hub_->news.notify_all();
  }

  void set_members(std::span<const Member>) override {}

  void connect(NodeId peer) override {
    const std::lock_guard lock(hub_->mutex);
    Hub::Port& port = hub_->ports[self_];
    const std::uint64_t connection = ++hub_->connections_made;
    port.connections[peer] = connection;
    hub_->owners[connection] = self_;
    if (!hub_->can_reach(self_, peer)) hub_->break_connection(self_, peer);
  }

  void hang_up(NodeId peer, Duration) override {
    const std::lock_guard lock(hub_->mutex);
    Hub::Port& port = hub_->ports[self_];
    const auto found = port.connections.find(peer);
    if (found == port.connections.end()) return;
    hub_->owners.erase(found->second);
    port.connections.erase(found);
  }

  void send(NodeId peer, ByteSpan head, ByteSpan payload) override {
    Bytes bytes;
    ByteWriter out(bytes);
    out.put_bytes(head);
    out.put_bytes(payload);
    const std::lock_guard lock(hub_->mutex);
    const Hub::Port& port = hub_->ports[self_];
    const auto found = port.connections.find(peer);
    if (found == port.connections.end()) return;
    hub_->ports.at(peer).events.push_back(
        {LoopbackEvent::Kind::frame, self_, found->second, std::move(bytes)});
    hub_->news.notify_all();
  }

  bool answer(const std::string& route, ByteSpan frame) override {
    const std::uint64_t connection = std::stoull(route);
    const std::lock_guard lock(hub_->mutex);
    const auto owner = hub_->owners.find(connection);
    if (owner == hub_->owners.end()) return false;
    hub_->ports[owner->second].events.push_back(
        {LoopbackEvent::Kind::answer, self_, connection, Bytes(frame.begin(), frame.end())});
    hub_->news.notify_all();
    return true;
  }

  void wait(Duration at_most) override {
    std::unique_lock lock(hub_->mutex);
    Hub::Port& port = hub_->ports[self_];
    hub_->news.wait_for(lock, at_most, [&] { return port.woken || !port.events.empty(); });
    port.woken = false;
  }

  bool collect(CarrierEvents& events) override {
    std::deque<LoopbackEvent> arrived;
    std::map<NodeId, std::uint64_t> ours;
    {
      const std::lock_guard lock(hub_->mutex);
      arrived.swap(hub_->ports[self_].events);
      ours = hub_->ports[self_].connections;
    }
    for (const LoopbackEvent& event : arrived) {
      // What is left of a connection that has a successor is dropped.
      const auto current = ours.find(event.from);
      const bool replaced = current != ours.end() && current->second != event.connection;
      if (event.kind != LoopbackEvent::Kind::frame && replaced) continue;
      if (event.kind == LoopbackEvent::Kind::disconnected)
        events.on_disconnected(event.from, "nobody is there");
      else if (event.kind == LoopbackEvent::Kind::answer)
        events.on_answer(event.from, event.bytes);
      else
        events.on_frame(event.from, std::to_string(event.connection), event.bytes);
    }
    return false;
  }

  void wake() override {
    const std::lock_guard lock(hub_->mutex);
    hub_->ports[self_].woken = true;
    hub_->news.notify_all();
  }

 private:
  std::shared_ptr<Hub> hub_;
  NodeId self_;
};

}  // namespace

LoopbackNetwork::LoopbackNetwork() : hub_(std::make_shared<Hub>()) {}
LoopbackNetwork::~LoopbackNetwork() = default;

std::unique_ptr<Carrier> LoopbackNetwork::carrier(NodeId self) {
  return std::make_unique<LoopbackCarrier>(hub_, self);
}

std::unique_ptr<Transport> LoopbackNetwork::attach(NodeId self, std::span<const Member> members,
                                                   const TransportOptions& options) {
  return std::make_unique<Transport>(self, members, options, carrier(self));
}

void LoopbackNetwork::cut(NodeId a, NodeId b, bool broken) {
  const std::lock_guard lock(hub_->mutex);
  if (broken) {
    hub_->broken.insert(std::minmax(a, b));
    hub_->break_connection(a, b);
    hub_->break_connection(b, a);
  } else {
    hub_->broken.erase(std::minmax(a, b));
  }
  hub_->news.notify_all();
}

}  // namespace tessera
