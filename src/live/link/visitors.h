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
#include <string>
#include <string_view>
#include <vector>

#include "live/link/conduct.h"

namespace tessera {

class Visitors {
 public:
  struct Limits {
    std::size_t silent_max = 256;  // Who have said nothing yet.
    std::size_t member_max = 4;    // A member's; it needs one.
    Conduct::Limits conduct{};
  };
  explicit Visitors(Limits limits) : limits_(limits) {}

  void came(int descriptor);
  // A frame came from there. `key` is the number of its member's key, `route` where answers go.
  void spoke(int descriptor, std::size_t key, std::string_view route = {});
  void answered(std::string_view route, std::size_t bytes);
  // Whether it had said anything.
  bool left(int descriptor);

  // Who came first of those that are too many. Each is named once.
  std::vector<int> take_surplus();
  std::vector<int> take_all_of(std::size_t key);
  struct Misbehaved {
    int descriptor = 0;
    std::optional<std::size_t> key{};  // Of one who has spoken.
    std::string_view word{};
    bool operator==(const Misbehaved&) const = default;
  };
  // Those whose conduct is not borne. `counts` tells what has come and gone on a connection.
  std::vector<Misbehaved> take_misbehaved(const std::function<Conduct::Counts(int)>& counts);

  std::size_t silent() const { return silent_.size(); }

 private:
  struct Visitor {
    std::uint64_t turn = 0;
    std::optional<std::size_t> key{};
    std::string route{};
    Conduct conduct{};
  };
  using ByTurn = std::map<std::uint64_t, int>;  // Oldest first.
  Visitor& find(int descriptor);
  ByTurn& line_of(const Visitor& visitor);
  static void take_oldest(ByTurn& line, std::size_t most, std::vector<int>& out);

  Limits limits_;
  std::uint64_t turns_ = 0;
  std::map<int, Visitor> visitors_;
  std::map<std::string, int, std::less<>> routes_;
  // Those who have not been named as surplus.
  ByTurn silent_;
  std::map<std::size_t, ByTurn> members_;
};

}  // namespace tessera
