// The connections we make: one DEALER per peer, to the address its roster entry stands for at that
// moment. A name is looked up anew for every connection, so that a peer that has moved is found.
#pragma once

#include <zmq.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "live/link/carrier.h"
#include "live/link/clock.h"
#include "live/link/names.h"
#include "live/link/zeromq_sockets.h"

namespace tessera {

class Dials {
 public:
  // `wake` is called from any thread when a name was found.
  Dials(zmq::context_t& context, Connection::Options options, LookUp look_up,
        std::function<void()> wake)
      : context_(context),
        options_(std::move(options)),
        names_(std::move(look_up), std::move(wake)),
        looks_(options_.conduct) {}

  void set_members(std::span<const Member> members);
  void connect(NodeId peer);
  void hang_up(NodeId peer, Duration linger);
  void send(NodeId peer, ByteSpan head, ByteSpan payload);

  void watch(std::vector<zmq::pollitem_t>& items);
  void collect(CarrierEvents& events);

 private:
  void open(NodeId peer, const std::string& address);
  void collect_names(CarrierEvents& events);
  void collect_answers(CarrierEvents& events);

  zmq::context_t& context_;
  Connection::Options options_;
  std::map<NodeId, Member> members_;
  std::map<NodeId, std::unique_ptr<Connection>> connections_;
  std::uint64_t connections_made_ = 0;
  std::map<NodeId, std::vector<Bytes>> waiting_;  // For a name; and what was sent meanwhile.
  std::map<NodeId, std::size_t> unanswered_;      // Attempts; a name's addresses are tried in turn.
  Names names_;
  SteadyClock clock_;
  Looks looks_;
};

}  // namespace tessera
