// One who has connected to a node to ask how it is: reads the question and writes the answer, as
// far as that is possible without waiting.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/stopwatch.h"

namespace tessera {

// "text", "json" or "prometheus" to what is answered.
using StatusAnswer = std::function<std::string(std::string_view format)>;

class StatusAsker {
 public:
  enum class Manner {
    kLocal,  // One line, the format's name.
    kHttp,   // GET /metrics.
  };
  // Takes over the connection.
  StatusAsker(int connection, Manner manner) : connection_(connection), manner_(manner) {}
  ~StatusAsker();
  StatusAsker(const StatusAsker&) = delete;
  StatusAsker& operator=(const StatusAsker&) = delete;

  int connection() const { return connection_; }
  Manner manner() const { return manner_; }
  // For poll: whether it is to be read from or written to next.
  short awaits() const;
  // Of the second it has to ask, and of the second it has to take the answer, in however many
  // pieces.
  double seconds_left() const { return 1 - watch_.seconds(); }

  // False when there is nothing left to do.
  bool go_on(const StatusAnswer& answer);

 private:
  bool read_more();
  bool write_more();
  std::string reply_to(const StatusAnswer& answer) const;

  int connection_;
  Manner manner_;
  std::string question_;
  std::string reply_;
  bool replying_ = false;
  Stopwatch watch_;
};

}  // namespace tessera
