// Three live nodes over CURVE on loopback, each beside a loop that trains the quadratic toy: they
// end with the simulation's models, also when one leaves in the middle of a training and comes
// back.
#include "run/live_loop.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "base/hash.h"
#include "live/link/keys.h"
#include "live/link/testing.h"
#include "live/roster.h"
#include "run/simulated_run.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr NodeId kNodes = 3;
constexpr Duration kPatience = std::chrono::milliseconds(100);

class LiveLoopTest : public testing::Test {
 protected:
  LiveLoopTest() {
    fs::remove_all(root_), fs::create_directories(root_);
    Roster roster;
    for (NodeId node = 0; node < kNodes; ++node) {
      const auto keys = make_key_files(key_files(root_, name_of(node)));
      const std::string address = fmt::format("127.0.0.1:{}", free_port());
      EXPECT_TRUE(roster.add(name_of(node), address, keys->public_key).ok());
    }
    roster.set_run(7);
    EXPECT_TRUE(roster.write(root_ / "roster.toml").ok());
  }
  ~LiveLoopTest() override { fs::remove_all(root_); }

  static std::string name_of(NodeId node) { return fmt::format("n{}", node); }
  LiveSettings settings(NodeId node) const {
    LiveSettings made =
        read_live_settings({}, {{"name", name_of(node)},
                                {"key", (root_ / (name_of(node) + ".key")).string()},
                                {"roster", (root_ / "roster.toml").string()},
                                {"folder", (root_ / name_of(node)).string()},
                                {"checkpoint", "1h"},
                                {"gather", "60s"}});
    made.lines = lines_;
    return made;
  }

  static LoopDesk::Call wait(LiveLoop& loop) {
    LoopDesk::Call call = LoopDesk::Call::kNothingYet;
    while (call == LoopDesk::Call::kNothingYet) call = loop.desk().wait(kPatience);
    return call;
  }

  // To the end, or as many trainings as are asked for, the last of which is not handed in.
  Vector train(NodeId node, int trainings) const {
    const Learning lesson = make_lesson(read_live_plan(lines_), 1);
    LiveLoop loop(settings(node), {.model = lesson.trainer->initial_model(), .tests = true});
    loop.start("a test");
    for (LoopDesk::Call call{}; (call = wait(loop)) != LoopDesk::Call::kFinished;) {
      Vector model = loop.desk().model();
      if (call == LoopDesk::Call::kTest) {
        loop.desk().tested({.loss = 1});
        continue;
      }
      if (trainings-- == 0) {
        loop.leave();
        EXPECT_EQ(loop.end(), RunEnd::kStopped);
        return train(node, -1);
      }
      // The toy draws nothing, so that the loop needs no seed.
      TrainJob job{.node = node, .model = model};
      lesson.trainer->train(std::span(&job, 1));
      loop.desk().trained(std::move(model), job.loss, {});
    }
    Vector last = loop.desk().model();
    EXPECT_EQ(loop.end(), RunEnd::kFinished);
    EXPECT_EQ(loop.status().round, 10u);
    EXPECT_FALSE(loop.take_lines().empty());
    return last;
  }

  std::uint64_t digest_of_all(int trainings_of_first) const {
    std::vector<std::future<Vector>> loops;
    for (NodeId node = 0; node < kNodes; ++node)
      loops.push_back(std::async(std::launch::async, [this, node, trainings_of_first] {
        return train(node, node == 0 ? trainings_of_first : -1);
      }));
    std::uint64_t digest = 0;
    for (auto& loop : loops) {
      const Vector model = loop.get();
      digest = hash_bytes(bytes_of(std::span<const float>(model)), digest);
    }
    return digest;
  }

  const fs::path root_ = fs::path(testing::TempDir()) / fmt::format("live_loop_{}", ::getpid());
  Experiment lines_{.nodes = "3",
                    .model = "quadratic:dimension=50,noise=0",
                    .topology = "ring",
                    .protocol = "dpsgd:rounds=10",
                    .sharing = "jwins",
                    .evaluate = "every=4"};
};

TEST_F(LiveLoopTest, EndsWithTheSimulationsModels) {
  EXPECT_EQ(digest_of_all(-1), SimulatedRun(read_plan(lines_)).to_end().model_digest);
}

TEST_F(LiveLoopTest, OneThatLeftComesBack) {
  EXPECT_EQ(digest_of_all(5), SimulatedRun(read_plan(lines_)).to_end().model_digest);
}

// Three nodes merge in three steps, in two of which the same two meet.
class LiveMergeTest : public LiveLoopTest {
 protected:
  LiveMergeTest() { lines_.merge = "every:rounds=4,codec=gamma+q8,last=gamma+f32"; }
};

TEST_F(LiveMergeTest, EndsWithTheSimulationsModels) {
  EXPECT_EQ(digest_of_all(-1), SimulatedRun(read_plan(lines_)).to_end().model_digest);
}

TEST_F(LiveMergeTest, OneThatLeftAfterAMergeComesBack) {
  EXPECT_EQ(digest_of_all(5), SimulatedRun(read_plan(lines_)).to_end().model_digest);
}

TEST_F(LiveLoopTest, DestroyedInTheMiddleItEnds) {
  LiveSettings alone = settings(0);
  alone.gather = "0s";
  LiveLoop loop(alone, {.model = Vector(50)});
  loop.start("a test");
  EXPECT_EQ(wait(loop), LoopDesk::Call::kTrain);
}

TEST_F(LiveLoopTest, ARecordingIsRefused) {
  LiveSettings recorded = settings(0);
  recorded.record = "log";
  EXPECT_THROW(LiveLoop(recorded, {.model = Vector(50)}), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
