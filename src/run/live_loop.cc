#include "run/live_loop.h"

#include <memory>
#include <stdexcept>

#include "run/made.h"

namespace tessera {
namespace {

constexpr std::size_t kLinesMax = 1000;

class LoopTrainer final : public Trainer {
 public:
  LoopTrainer(LoopDesk& desk, LoopParts parts) : desk_(desk), parts_(std::move(parts)) {}
  std::size_t dimension() const override { return parts_.model.size(); }
  Vector initial_model() const override { return parts_.model; }
  std::vector<std::uint32_t> tensors() const override { return parts_.tensors; }
  void train(std::span<TrainJob> cohort) override {
    for (TrainJob& job : cohort) desk_.train(job);
  }
  void fields(Archive& archive) override { archive(desk_); }

 private:
  LoopDesk& desk_;
  LoopParts parts_;
};

class LoopEvaluator final : public Evaluator {
 public:
  explicit LoopEvaluator(LoopDesk& desk) : desk_(desk) {}
  std::vector<Score> evaluate(std::span<const NodeId>,
                              std::span<const std::span<const float>> models) override {
    std::vector<Score> scores;
    for (const std::span<const float> model : models) scores.push_back(desk_.test(model));
    return scores;
  }

 private:
  LoopDesk& desk_;
};

void refuse_recording(const LiveSettings& settings) {
  if (!settings.record.empty())
    throw std::invalid_argument("record=" + settings.record +
                                ": what a loop of one's own trains cannot be replayed without it: "
                                "leave it out");
}

}  // namespace

LiveLoop::LiveLoop(LiveSettings settings, LoopParts parts) : desk_(parts.tests) {
  refuse_recording(settings);
  Learning lesson;
  lesson.description = std::move(parts.description);
  lesson.evaluator = std::make_unique<LoopEvaluator>(desk_);
  lesson.trainer = std::make_unique<LoopTrainer>(desk_, std::move(parts));
  run_ = std::make_unique<LiveRun>(
      std::move(settings),
      LiveParts{.say = [this](LogLevel, std::string_view line) { say(line); },
                .lesson = std::move(lesson),
                .on_finished = [this](const Node& node) { desk_.finish(node.model()); }});
}

LiveLoop::~LiveLoop() {
  leave();
  if (thread_.joinable()) thread_.join();
}

void LiveLoop::start(std::string command) {
  thread_ = std::thread([this, command = std::move(command)] {
    try {
      end_ = run_->run(command, made_now());
    } catch (...) {
      failure_ = std::current_exception();
    }
    desk_.end();
  });
}

void LiveLoop::leave() {
  desk_.leave();
  const std::lock_guard lock(mutex_);
  if (run_) run_->stop();
}

// Lets go of the folder and the addresses, so that the node can be started again.
RunEnd LiveLoop::end() {
  const std::lock_guard one_at_a_time(ending_);
  if (thread_.joinable()) thread_.join();
  std::unique_ptr<LiveRun> gone;
  {
    const std::lock_guard lock(mutex_);
    gone = std::move(run_);
    if (gone) last_status_ = gone->status();
    if (gone) shortfall_ = gone->shortfall();
  }
  gone.reset();  // Without the lock: it may have something to say.
  if (failure_) std::rethrow_exception(failure_);
  return end_;
}

NodeStatus LiveLoop::status() const {
  const std::lock_guard lock(mutex_);
  return run_ ? run_->status() : last_status_;
}

std::string LiveLoop::shortfall() const {
  const std::lock_guard lock(mutex_);
  return shortfall_;
}

std::vector<LiveLoop::Line> LiveLoop::take_lines() {
  const std::lock_guard lock(mutex_);
  const std::deque<Line> lines = std::exchange(lines_, {});
  return {lines.begin(), lines.end()};
}

void LiveLoop::say(std::string_view line) {
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(watch_.seconds(), line);
  if (lines_.size() > kLinesMax) lines_.pop_front();
}

}  // namespace tessera
