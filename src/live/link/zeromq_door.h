// The connections others make to us: one ROUTER, the ZAP handler that looks their keys up in the
// roster, and who is connected at the moment. A stranger gets no byte past the handshake, an
// observer none but answers to its questions, and a guest none but answers to its knocks.
#pragma once

#include <zmq.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "live/link/carrier.h"
#include "live/link/clock.h"
#include "live/link/visitors.h"
#include "live/link/zeromq_sockets.h"

namespace tessera {

class Door {
 public:
  // Throws std::invalid_argument when the address cannot be bound. Without one nobody comes in.
  Door(zmq::context_t& context, const KeyPair& keys, const std::string& address,
       Visitors::Limits limits);

  // Connections of those who are no longer in the roster are ended.
  void set_members(std::span<const Member> members);
  void set_observers(std::span<const RosterObserver> observers);
  void set_guests(std::span<const std::string> keys);
  bool answer(const std::string& route, ByteSpan frame);  // As Carrier's.

  void watch(std::vector<zmq::pollitem_t>& items);
  // Reports what came in, a bounded amount per call. Whether more may be left.
  bool collect(CarrierEvents& events);

 private:
  void bind(const std::string& address);
  bool collect_frames(CarrierEvents& events);
  void collect_requests(CarrierEvents& events);
  void collect_comings_and_goings(CarrierEvents& events);
  void admit(std::vector<zmq::message_t> request, CarrierEvents& events);
  bool may_enter(const std::string& key) const;
  void show_out_those_no_longer_in();
  void take(std::size_t key, const std::vector<zmq::message_t>& parts, CarrierEvents& events);
  std::size_t number_of_key(const std::string& key);
  void show_out(std::span<const int> descriptors);
  void show_out_misbehaved(CarrierEvents& events);

  zmq::socket_t zap_, router_;
  Monitor monitor_;
  int port_ = 0;
  std::map<std::string, NodeId, std::less<>> id_of_key_;
  std::set<std::string, std::less<>> observers_, guests_;  // Their keys.
  std::vector<std::string> admitted_;  // Keys that were in the roster when they came, once each.
  Visitors visitors_;
  std::uint64_t denied_ = 0;  // Strangers whose connection has not ended yet.
  SteadyClock clock_;
  Looks looks_;
};

}  // namespace tessera
