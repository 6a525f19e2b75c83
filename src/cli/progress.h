// The line that tells a person how far a run is: rewritten in place on a terminal, a line each time
// elsewhere.
#pragma once

#include <cstddef>
#include <string>

namespace tessera {

class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  bool quiet() const { return quiet_; }
  bool on_terminal() const { return terminal_; }
  void show(const std::string& line);
  void end();  // What is printed next begins a line of its own.

 private:
  bool quiet_, terminal_;
  std::size_t width_ = 0;  // Of the line before.
};

}  // namespace tessera
