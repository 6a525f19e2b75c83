// Eight nodes of DivShare on slow links, four of them stragglers, measured every five seconds.
#include "report/time_log.h"

#include <gtest/gtest.h>

#include "run/toy_world.h"

namespace tessera {
namespace {

constexpr Instant kEnd{std::chrono::seconds(22)};

ToyWorldOptions slow_world() {
  ToyWorldOptions options;
  options.protocol = "divshare:fanout=3,until=22s";
  options.sharing = "fragments:fraction=0.25";
  options.codec = "raw32+f32";
  // A round's twelve messages of about 290 bytes: 0.7 s for a fast node, 3.5 s for a straggler.
  options.network = "fifo:up=5kB/s,down=5kB/s,latency=1ms,stragglers=4,slowdown=5";
  return options;
}

struct Watched {
  explicit Watched(const ToyWorldOptions& options) : world(options) {}

  // Returns whether there is more to come.
  bool step() {
    while (log.next_sample() <= world.simulation->next() && log.next_sample() != kNever)
      log.sample(*world.simulation);
    return world.simulation->step(log);
  }

  ToyWorld world;
  QuadraticEvaluator evaluator{world.trainer};
  std::vector<MetricsRow> rows;
  TimeLog log{evaluator, Measured(8, {}), std::chrono::seconds(5), kEnd,
              [this](const MetricsRow& row) { rows.push_back(row); }};
};

TEST(TimeLog, MeasuresAtItsMomentsAndAtTheEnd) {
  Watched run(slow_world());
  run.world.simulation->start();
  while (run.step()) {
  }
  std::vector<double> moments;
  for (const MetricsRow& row : run.rows) moments.push_back(row.seconds);
  EXPECT_EQ(moments, (std::vector<double>{5, 10, 15, 20, 22}));
  for (const MetricsRow& row : run.rows) {
    ASSERT_TRUE(row.network.has_value());
    const NetworkFigures& network = *row.network;
    EXPECT_GT(network.delivered_fraction, 0.3);  // Fast nodes drop none.
    EXPECT_LT(network.delivered_fraction, 0.9);  // Stragglers drop most of theirs.
    // A straggler always sends, now and then to a straggler that is slower still.
    EXPECT_GT(network.link_use_max, 0.7);
    EXPECT_LE(network.link_use_max, 1.001);
    EXPECT_GT(network.queue_max, network.queue);
    EXPECT_GT(network.delay_seconds, 0.001);
  }
  EXPECT_LT(run.rows.back().loss.mean, run.rows.front().loss.mean);
  ASSERT_EQ(run.log.latest().figures.size(), 8u);
  EXPECT_GT(run.log.latest().figures[0].link_use, run.log.latest().figures[7].link_use);
}

TEST(TimeLog, GoesOnFromACheckpoint) {
  Watched whole(slow_world());
  whole.world.simulation->start();
  while (whole.step()) {
  }
  Watched first(slow_world()), second(slow_world());
  first.world.simulation->start();
  while (first.world.simulation->now() < Instant(std::chrono::seconds(12))) first.step();
  Bytes saved;
  save_fields(*first.world.simulation, saved);
  save_fields(first.log, saved);
  ByteReader in(saved);
  ASSERT_TRUE(load_fields(*second.world.simulation, in).ok());
  ASSERT_TRUE(load_fields(second.log, in).ok());
  while (second.step()) {
  }
  ASSERT_EQ(second.rows.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(to_json_line(second.rows[i]), to_json_line(whole.rows[i + 2]));
  EXPECT_EQ(second.world.simulation->model_digest(), whole.world.simulation->model_digest());
}

}  // namespace
}  // namespace tessera
