// What a live node is said to have recorded: its experiment is sound and every checksum right, and
// the records are made up. Replaying ends in a story or in one line.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "run/experiment.h"
#include "run/live_replay.h"

namespace tessera {
namespace {

void put_record(Bytes& file, const Bytes& record) {
  ByteWriter writer(file);
  writer.put<std::uint64_t>(record.size());
  writer.put(hash_bytes(record));
  writer.put_bytes(record);
}

// The input: the node's id, whether a state is told, and then records, each with its length.
Bytes log_of(ByteReader in) {
  static const std::string config = to_toml({.nodes = "4",
                                             .model = "quadratic:dimension=5",
                                             .topology = "ring",
                                             .protocol = "dpsgd:rounds=3"});
  Bytes header;
  ByteWriter writer(header);
  writer.put(std::uint32_t{0x4c565354});
  writer.put(std::uint32_t{4});
  writer.put<NodeId>(in.get<std::uint8_t>());
  writer.put(std::uint64_t{7});
  writer.put<std::uint64_t>(config.size());
  writer.put_bytes(bytes_of(std::string_view(config)));
  const ByteSpan state = in.get_bytes(std::min<std::size_t>(in.get<std::uint8_t>(), in.left()));
  writer.put<std::uint64_t>(state.size());
  writer.put_bytes(state);
  Bytes file;
  put_record(file, header);
  while (in.left() > 0) {
    const ByteSpan record = in.get_bytes(std::min<std::size_t>(in.get<std::uint8_t>(), in.left()));
    put_record(file, {record.begin(), record.end()});
  }
  return file;
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const Bytes log = log_of(ByteReader(std::as_bytes(std::span(data, size))));
  const int file = ::memfd_create("log", MFD_CLOEXEC);
  CHECK(::write(file, log.data(), log.size()) == static_cast<ssize_t>(log.size()));
  try {
    (void)replay_live_log("/proc/self/fd/" + std::to_string(file));
  } catch (const std::invalid_argument&) {
  } catch (const std::runtime_error&) {
  }
  ::close(file);
  return 0;
}
