#include "run/live_fleet_question.h"

#include <future>
#include <memory>
#include <optional>
#include <stdexcept>

#include "live/link/fleet_asker.h"
#include "live/link/keys.h"
#include "live/log_line.h"
#include "live/roster.h"
#include "live/status_question.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

// Connections last while the roster does not change.
class RosterFleet {
 public:
  RosterFleet(fs::path roster, const fs::path& key)
      : path_(std::move(roster)), keys_(or_throw<std::invalid_argument>(read_key_file(key))) {
    read();
    if (roster_.members().empty())
      throw std::invalid_argument(path_.string() + " has no members: tessera roster add");
  }

  std::vector<FleetAnswer> ask(Duration patience) {
    read();
    std::vector<FleetAnswer> answers;
    const auto asked = time_of_day();
    for (auto& [id, heard] : asker_->ask(patience)) {
      const auto after = std::chrono::ceil<std::chrono::milliseconds>(heard.after);
      answers.push_back({*roster_.find(id), std::move(heard.report), asked, asked + after});
    }
    return answers;
  }

 private:
  // One that cannot be read leaves the one before in place, once there was one.
  void read() {
    std::error_code ignored;
    const auto changed = fs::last_write_time(path_, ignored);
    if (asker_ && changed == read_at_) return;
    Result<Roster> roster = Roster::read(path_);
    if (!roster && asker_) return;
    roster_ = or_throw<std::invalid_argument>(std::move(roster));
    read_at_ = changed;
    asker_ = std::make_unique<FleetAsker>(keys_, roster_.members());
  }

  fs::path path_;
  KeyPair keys_;
  fs::file_time_type read_at_{};
  Roster roster_;
  std::unique_ptr<FleetAsker> asker_;
};

FleetAnswer ask_socket(NodeId id, const fs::path& socket, Duration patience) {
  const std::string folder = fs::absolute(socket).parent_path().filename().string();
  const auto asked = time_of_day();
  Result<std::string> report = ask_status(socket, "json", patience);
  return {{.id = id, .name = folder}, std::move(report), asked, time_of_day()};
}

}  // namespace

AskFleet ask_roster(const fs::path& roster, const fs::path& key) {
  return [fleet = std::make_shared<RosterFleet>(roster, key)](Duration patience) {
    return fleet->ask(patience);
  };
}

AskFleet ask_sockets(std::vector<fs::path> sockets) {
  return [sockets = std::move(sockets)](Duration patience) {
    std::vector<std::future<FleetAnswer>> asked;
    for (NodeId id = 0; id < sockets.size(); ++id)
      asked.push_back(std::async(std::launch::async, ask_socket, id, sockets[id], patience));
    std::vector<FleetAnswer> answers;
    for (std::future<FleetAnswer>& answer : asked) answers.push_back(answer.get());
    return answers;
  };
}

}  // namespace tessera
