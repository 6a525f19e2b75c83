// Where a live node and a loop elsewhere hand models over, when the training is that loop's: of a
// Python script, or of a program that embeds a node. To the node it is a trainer and an evaluator;
// to the loop, a place to wait for the next model and to hand in what became of the last.
//
// The node's threads wait here without a bound, for as long as the loop trains. leave() ends that:
// what is asked for is abandoned (WorkAbandoned), and so is everything after it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"
#include "base/ids.h"
#include "base/time.h"
#include "node/trainer.h"

namespace tessera {

class LoopDesk {
 public:
  // `tests`: whether the loop also tests models; otherwise they score nothing.
  explicit LoopDesk(bool tests) : tests_(tests) {}

  // What the node wants of the loop.
  enum class Call {
    kNothingYet,
    kTrain,     // Train model().
    kTest,      // Say how well model() does.
    kFinished,  // Nothing: model() is the last.
    kEnded,     // Nothing: the node has gone.
  };

  // The loop's side. Asked again, a call that was not answered is told again.
  Call wait(Duration patience);
  const Vector& model() const { return model_; }  // Of the last call; the loop's until its answer.
  std::uint64_t seed() const { return seed_; }    // A number that is this training's own.
  // Answers to kTrain and kTest. `memory` is what the loop remembers between trainings, for
  // checkpoints. One that was abandoned meanwhile is let go.
  void trained(Vector model, float loss, std::string memory);
  void tested(const Score& score);
  // What a checkpoint said of the loop's memory, once after each time that one was read.
  std::optional<std::string> take_restored();
  void leave();
  bool wait_for_end(Duration patience);  // Whether the node has gone.

  // The node's side.
  void train(TrainJob& job);
  Score test(std::span<const float> model);
  void finish(const Vector& model);
  void end();  // It has gone.
  void fields(Archive& archive);

 private:
  bool pending() const { return call_ != Call::kNothingYet && !answered_; }
  Call current() const;
  void ask(std::unique_lock<std::mutex>& lock, Call call, std::span<const float> model);

  const bool tests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Call call_ = Call::kNothingYet;
  bool answered_ = false;
  bool left_ = false, ended_ = false;
  bool finished_ = false;
  bool last_tested_ = false;  // Whether the last model has been.
  Vector model_, last_;
  std::uint64_t seed_ = 0;
  Score score_{};  // Of a test; of a training its loss.
  std::string memory_;
  bool restored_ = false;  // The memory, and the loop does not know yet.
};

}  // namespace tessera
