// Drives a node through a recorded log and compares what it does with what it did.
#include <fmt/format.h>

#include "base/archive.h"
#include "live/event_log.h"

namespace tessera {
namespace {

void archive_state(Archive& archive, Node& node, Trainer& trainer) {
  archive(node, trainer);
}

// A world that only remembers what is to be trained; messages lead nowhere.
class ReplayedWorld final : public Env {
 public:
  ReplayedWorld(std::function<std::unique_ptr<Node>(Vector)> make_node, Trainer& trainer, NodeId id)
      : make_node_(std::move(make_node)), trainer_(trainer), id_(id) {
    node_ = make_node_(trainer_.initial_model());
  }

  Result<void> restore(ByteSpan state) {
    ByteReader in(state);
    Archive archive(in);
    archive_state(archive, *node_, trainer_);
    return archive.ok();
  }

  Instant now() const override { return now_; }
  void send(NodeId, Payload) override {}
  void drop_unsent() override {}
  void wake_after(Duration) override {}
  void train(const Vector& model, Random random) override {
    model_ = model;
    random_ = random;
    training_ = true;
  }

  void take(Instant at, Replay& replay, LoggedEvent& logged) {
    now_ = at;
    std::visit([&](auto& what) { on(what, replay); }, logged.what);
  }
  const Node& node() const { return *node_; }

 private:
  template <typename Plain>
  void on(Plain& event, Replay& replay) {
    ++replay.events;
    node_->handle(std::move(event), *this);
  }

  void on(LoggedTraining& live, Replay& replay) {
    ++replay.events;
    ++replay.trainings;
    if (!training_) return differ(replay, "a training ended that was not begun");
    training_ = false;
    TrainJob job{.node = id_, .model = model_, .random = random_};
    trainer_.train(std::span(&job, 1));
    if (digest_of(model_) != live.digest) differ(replay, "training ended in another model");
    node_->handle(Trained{std::move(model_), job.loss}, *this);
  }

  void on(LoggedAdoption& adoption, Replay& replay) {
    ++replay.events;
    training_ = false;
    node_ = make_node_(std::move(adoption.model));
  }

  void on(LoggedRound& live, Replay& replay) {
    if (node_->rounds_done() != live.round)
      differ(replay,
             fmt::format("it had completed round {}, not {}", live.round, node_->rounds_done()));
    else if (digest_of(node_->model()) != live.digest)
      differ(replay, fmt::format("its model after round {} was another", live.round));
  }

  void differ(Replay& replay, std::string_view how) {
    if (replay.difference.empty())
      replay.difference = fmt::format("at {:.3f} s, event {}: {}",
                                      to_seconds(now_.time_since_epoch()), replay.events, how);
  }

  std::function<std::unique_ptr<Node>(Vector)> make_node_;
  Trainer& trainer_;
  NodeId id_;
  std::unique_ptr<Node> node_;
  Instant now_{};
  bool training_ = false;
  Vector model_;
  Random random_{0};
};

}  // namespace

// Writing changes neither, see save_fields().
Bytes recorded_state(const Node& node, const Trainer& trainer) {
  Bytes state;
  Archive archive(state);
  archive_state(archive, const_cast<Node&>(node), const_cast<Trainer&>(trainer));
  return state;
}

Result<Replay> replay(EventLogReader& log,
                      const std::function<std::unique_ptr<Node>(Vector model)>& make_node,
                      Trainer& trainer) {
  ReplayedWorld world(make_node, trainer, log.header().id);
  if (!log.header().state.empty())
    if (auto restored = world.restore(log.header().state); !restored) return restored.error();
  Replay replay;
  while (std::optional<LoggedEvent> logged = log.next()) {
    world.take(logged->at, replay, *logged);
    if (!replay.difference.empty()) break;
  }
  replay.torn = log.torn();
  replay.rounds = world.node().rounds_done();
  replay.model_digest = digest_of(world.node().model());
  return replay;
}

}  // namespace tessera
