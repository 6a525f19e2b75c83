// The transport between machines: ZeroMQ over TCP, CURVE always on. A node binds one ROUTER for
// what others tell it and holds one DEALER per peer for what it tells them. Both ends must be in
// the roster: a DEALER checks its peer's key, and the ROUTER asks our ZAP handler, which knows the
// members. A stranger gets no byte past the handshake.
//
// Refusals besides those of link.h:
//   "unknown-key"   a valid handshake with a key that is not in the roster
//   "handshake"     a connection that ended before anything got through: noise, another protocol, a
//                   failed handshake, or opened and dropped
//   "multipart"     a message in several parts; ours have one. ZeroMQ joins the parts before we
//                   see them
//   "endless"       more than 64 MiB came without a whole message, on a connection that either side
//                   has made, and which is ended (conduct.h)
//   "unread"        more than 64 MiB lie unread beyond what may be in flight; likewise
//   "not-a-member"  a frame from a member or observer that was removed while connected
//   "observer"      an observer that said something else than its question
//   "guest"         one who is invited that said something else than its knock
//
// Descriptors: the process's limit is raised as far as it may be, connections that have not said
// anything take a quarter of it at most, and each member four; the oldest makes room (visitors.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "live/link/carrier.h"
#include "live/link/keys.h"
#include "live/link/names.h"
#include "live/link/transport.h"

namespace tessera {

struct ZeroMqOptions {
  NodeId self = 0;
  KeyPair keys{};
  std::vector<Member> members{};  // The roster, ourselves included.
  std::vector<RosterObserver> observers{};
  // host:port. Empty takes the port of our roster address on every interface, or on the loopback
  // alone when that is where the roster puts us. Who dials out listens nowhere.
  std::string bind_address{};
  LookUp look_up = look_up_host;  // How names in the roster become numbers.
  TransportOptions link{};
};

// Throws std::invalid_argument when we are not in the roster, when our key is not the roster's, or
// when the address cannot be bound.
std::unique_ptr<Transport> make_zeromq_transport(ZeroMqOptions options);

// The frames alone, for tests and benchmarks that do not keep the rules of a link.
std::unique_ptr<Carrier> make_zeromq_carrier(const ZeroMqOptions& options);

}  // namespace tessera
