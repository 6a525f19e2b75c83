#include "live/link/transport_bench.h"

#include <fmt/format.h>
#include <zmq.hpp>

#include <cstring>
#include <thread>

#include "base/hash.h"
#include "base/random.h"
#include "live/link/zeromq.h"

namespace tessera {
namespace {

constexpr std::size_t kMessageBytes = 1 << 20;

Bytes message_to_send() {
  Bytes message(kMessageBytes);
  Random random(1);
  for (std::byte& byte : message) byte = static_cast<std::byte>(random.bits());
  return message;
}

// ZeroMQ as a program would use it that trusts everybody: one thread sends, another receives.
class RawPair {
 public:
  explicit RawPair(bool encrypted) {
    const KeyPair server = make_key_pair(), client = make_key_pair();
    if (encrypted) {
      router_.set(zmq::sockopt::curve_server, true);
      router_.set(zmq::sockopt::curve_secretkey, server.secret_key);
      dealer_.set(zmq::sockopt::curve_serverkey, server.public_key);
      dealer_.set(zmq::sockopt::curve_publickey, client.public_key);
      dealer_.set(zmq::sockopt::curve_secretkey, client.secret_key);
    }
    router_.set(zmq::sockopt::linger, 0);
    dealer_.set(zmq::sockopt::linger, 0);
    router_.bind("tcp://127.0.0.1:*");
    dealer_.connect(router_.get(zmq::sockopt::last_endpoint));
  }

  // The hash of the last message received.
  std::uint64_t move(const Bytes& message, int count) {
    std::thread sender([&] {
      for (int i = 0; i < count; ++i)
        dealer_.send(zmq::buffer(message.data(), message.size()), zmq::send_flags::none);
    });
    zmq::message_t route, received;
    for (int i = 0; i < count; ++i) {
      (void)router_.recv(route, zmq::recv_flags::none);
      (void)router_.recv(received, zmq::recv_flags::none);
    }
    sender.join();
    return hash_bytes({received.data<std::byte>(), received.size()});
  }

 private:
  zmq::context_t sending_, receiving_;  // Two, as two processes would have.
  zmq::socket_t dealer_{sending_, zmq::socket_type::dealer};
  zmq::socket_t router_{receiving_, zmq::socket_type::router};
};

// A port nobody listens on at the moment.
std::string free_address() {
  zmq::context_t context;
  zmq::socket_t socket(context, zmq::socket_type::router);
  socket.bind("tcp://127.0.0.1:*");
  return socket.get(zmq::sockopt::last_endpoint).substr(std::strlen("tcp://"));
}

class OurPair {
 public:
  OurPair() {
    const std::vector<KeyPair> keys = {make_key_pair(), make_key_pair()};
    const std::vector<Member> members = {{0, "sender", free_address(), keys[0].public_key},
                                         {1, "receiver", free_address(), keys[1].public_key}};
    sender_ = make_zeromq_transport({0, keys[0], members, {}, {}});
    receiver_ = make_zeromq_transport({1, keys[1], members, {}, {}});
  }

  std::uint64_t move(const std::shared_ptr<const Bytes>& message, int count) {
    std::thread sender([&] {
      for (int i = 0; i < count;)
        if (sender_->send(1, message)) ++i;
    });
    std::optional<Incoming> last;
    for (int i = 0; i < count;)
      if (std::optional<Incoming> incoming = receiver_->receive(std::chrono::seconds(1))) {
        last = std::move(incoming);
        ++i;
      }
    sender.join();
    return hash_bytes(last->bytes);
  }

 private:
  std::unique_ptr<Transport> sender_, receiver_;
};

}  // namespace

void bench_transport(Bench& bench) {
  const bool quick = bench.options().seconds_per_contender < 0.1;
  const int count = quick ? 4 : 16;  // Few at a time: many short turns make a steadier median.
  const auto message = std::make_shared<const Bytes>(message_to_send());
  const std::uint64_t hash = hash_bytes(*message);
  RawPair plain(false), curve(true);
  OurPair ours;
  bench.section(fmt::format("{} messages of 1 MiB over the loopback interface", count));
  bench.verify(plain.move(*message, 1) == hash, "a message by ZeroMQ");
  bench.verify(curve.move(*message, 1) == hash, "a message by ZeroMQ with CURVE");
  bench.verify(ours.move(message, 1) == hash, "a message by our transport");
  const std::vector<Contender> contenders = {
      {"ZeroMQ, plain", [&] { keep(plain.move(*message, count)); }},
      {"ZeroMQ, CURVE", [&] { keep(curve.move(*message, count)); }},
      {"tessera's transport", [&] { keep(ours.move(message, count)); }}};
  const std::vector<Timing> timings = bench.time_in_turns(contenders);
  const double bytes = static_cast<double>(count) * kMessageBytes;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    bench.row(contenders[i].name, timings[i], bytes);
  if (!quick)
    bench.goal("our transport, of ZeroMQ with CURVE, 1 MiB messages",
               timings[1].median_s / timings[2].median_s, 0.85);
}

}  // namespace tessera
