#include "run/live_fleet_feed.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/page_assets.h"
#include "run/live_fleet_text.h"

namespace tessera {
namespace {

constexpr auto kPause = std::chrono::seconds(1);
constexpr Duration kPatience = std::chrono::seconds(2);

}  // namespace

FleetFeed::FleetFeed(std::string title, AskFleet ask)
    : title_(std::move(title)), ask_(std::move(ask)), thread_([this] { ask_on_and_on(); }) {}

FleetFeed::~FleetFeed() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void FleetFeed::ask_on_and_on() {
  for (;;) {
    std::vector<FleetNode> nodes = judge(ask_(kPatience));
    std::unique_lock lock(mutex_);
    nodes_ = std::move(nodes);
    if (ended_.wait_for(lock, kPause, [this] { return ending_; })) return;
  }
}

std::string FleetFeed::figures(bool live) const {
  const std::lock_guard lock(mutex_);
  return fmt::format("{{\"title\":{},\"live\":{},\"nodes\":{}}}", nlohmann::json(title_).dump(),
                     live, to_json(nodes_));
}

std::string FleetFeed::metrics() const {
  const std::lock_guard lock(mutex_);
  return to_prometheus(nodes_);
}

WatchSource watch_fleet(std::string title, AskFleet ask) {
  const auto feed = std::make_shared<FleetFeed>(std::move(title), std::move(ask));
  return {.page = [] { return std::string(fleet_page()); },
          .figures = [feed](bool live) { return feed->figures(live); },
          .metrics = [feed] { return feed->metrics(); }};
}

}  // namespace tessera
