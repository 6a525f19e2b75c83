// What moves frames between machines, as the transport above it sees it (transport.h). A
// carrier knows connections and who is at their other end; it does not know what the frames mean.
// Only the transport's own thread calls it, but for wake().
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "live/link/conduct.h"
#include "live/link/member.h"

namespace tessera {

// What came in, one call each.
class CarrierEvents {
 public:
  virtual ~CarrierEvents() = default;
  // From the other end of the connection we made.
  virtual void on_answer(NodeId from, ByteSpan frame) = 0;
  // From a connection the peer made; answers to it go to `route`.
  virtual void on_frame(NodeId from, std::string_view route, ByteSpan frame) = 0;
  // Someone who may look asks how we are, by a connection of its own; the answer goes to `route`.
  // `key` is the number of its key.
  virtual void on_question(std::size_t /*key*/, std::string_view /*route*/) {}
  // Someone who is invited knocks; `guest` is the invitation's public key.
  virtual void on_knock(std::string_view /*guest*/, std::string_view /*route*/,
                        ByteSpan /*frame*/) {}
  // The connection we made broke, or could not be made.
  virtual void on_disconnected(NodeId peer, std::string_view why) = 0;
  // The peer's conduct is not borne (conduct.h), on the connection we made, which is to be hung up,
  // or on its own, which is ended.
  virtual void on_misconduct(NodeId peer, std::string_view word) {
    on_disconnected(peer, explain_conduct(word));
  }
  // Something was turned away before it had a name.
  virtual void on_refused(std::string_view word) = 0;
};

class Carrier {
 public:
  virtual ~Carrier() = default;

  // Who may connect to us, and whose keys and addresses connect() uses.
  virtual void set_members(std::span<const Member> members) = 0;

  // Who may ask how we are besides members, and nothing else. Carriers that have no keys have none.
  virtual void set_observers(std::span<const RosterObserver>) {}
  // The public keys of invitations, which may knock and nothing else.
  virtual void set_guests(std::span<const std::string>) {}

  // One connection per peer. What is sent before it stands goes out when it does.
  virtual void connect(NodeId peer) = 0;
  // Gives up the connection; what was sent may still leave within `linger`.
  virtual void hang_up(NodeId peer, Duration linger) = 0;
  virtual void send(NodeId peer, ByteSpan head, ByteSpan payload) = 0;
  // False when it was dropped: the connection is gone, or its other end does not read.
  virtual bool answer(const std::string& route, ByteSpan frame) = 0;

  // Sleeps until something came in, wake() was called or the time is over.
  virtual void wait(Duration at_most) = 0;
  // Reports what came in, a bounded amount per call. Whether more may be left.
  virtual bool collect(CarrierEvents& events) = 0;
  virtual void wake() = 0;  // From any thread.
};

}  // namespace tessera
