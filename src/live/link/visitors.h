// The connections others have made to us, by the descriptor they are held by: which of them have
// said anything, and for whom. Each costs a descriptor and some memory, so there is a bound for
// those who have not shown that they are members, and one for each member. Knows no sockets: whom
// it names is to be shown out by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace tessera {

class Visitors {
 public:
  struct Limits {
    std::size_t silent_max = 256;  // Who have said nothing yet.
    std::size_t member_max = 4;    // A member's; it needs one.
    // Bytes received since the last frame. ZeroMQ joins the parts of a message before we see any of
    // them and limits only the size of each, so that one without an end would fill the memory.
    std::uint64_t frameless_bytes_max = 64 << 20;
  };
  explicit Visitors(Limits limits) : limits_(limits) {}

  void came(int descriptor);
  // A frame came from there. `key` is the number of its member's key.
  void spoke(int descriptor, std::size_t key);
  // Whether it had said anything.
  bool left(int descriptor);

  // Who came first of those that are too many. Each is named once.
  std::vector<int> take_surplus();
  std::vector<int> take_all_of(std::size_t key);
  // Of whom more bytes have come since their last frame than may. `received` tells how many have
  // come from a connection by now. To be asked several times a second.
  std::vector<int> take_endless(const std::function<std::uint64_t(int)>& received);

  std::size_t silent() const { return silent_.size(); }

 private:
  struct Visitor {
    std::uint64_t turn = 0;
    std::optional<std::size_t> key{};
    bool spoke = false;       // Since it was last looked at.
    std::uint64_t bytes = 0;  // Received when it was last found to have spoken.
  };
  using ByTurn = std::map<std::uint64_t, int>;  // Oldest first.
  Visitor& find(int descriptor);
  ByTurn& line_of(const Visitor& visitor);
  static void take_oldest(ByTurn& line, std::size_t most, std::vector<int>& out);

  Limits limits_;
  std::uint64_t turns_ = 0;
  std::map<int, Visitor> visitors_;
  // Those who have not been named as surplus.
  ByTurn silent_;
  std::map<std::size_t, ByTurn> members_;
};

}  // namespace tessera
