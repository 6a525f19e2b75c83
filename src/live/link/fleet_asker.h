// Asks the members of a roster how they are, all at once, with a key that their rosters know: a
// member's or an observer's. Connections last from one question to the next.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "live/link/keys.h"
#include "live/link/member.h"
#include "live/link/names.h"

namespace tessera {

class FleetAsker {
 public:
  FleetAsker(KeyPair keys, std::span<const Member> members, LookUp look_up = look_up_host);
  ~FleetAsker();

  struct Heard {
    Result<std::string> report;  // As JSON, or why there is none.
    Duration after{};            // How long that took.
  };
  // Of every member, after `patience` at the latest. Errors: "unreachable", "silent", "dials-out",
  // and those of decode_report.
  std::map<NodeId, Heard> ask(Duration patience);

  struct Replied {
    Result<Bytes> frame;
    Duration after{};
  };
  // Any question of one frame, and the frames that come back.
  std::map<NodeId, Replied> ask(ByteSpan question, Duration patience);

 private:
  struct Lines;
  std::unique_ptr<Lines> lines_;
};

}  // namespace tessera
