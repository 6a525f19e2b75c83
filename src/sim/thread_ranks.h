// Ranks that are threads of one process, for tests: what several processes do, without MPI.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "sim/ranks.h"

namespace tessera {

class ThreadRanks {
 public:
  explicit ThreadRanks(std::uint32_t count) : told_(count, std::vector<Bytes>(count)) {
    for (std::uint32_t rank = 0; rank < count; ++rank) ranks_.emplace_back(*this, rank);
  }

  // Runs the body once per rank, each on a thread of its own.
  void run(const std::function<void(Ranks&)>& body) {
    std::vector<std::jthread> threads;
    for (One& rank : ranks_) threads.emplace_back([&] { body(rank); });
  }

 private:
  class One final : public Ranks {
   public:
    One(ThreadRanks& all, std::uint32_t mine) : all_(all), mine_(mine) {}
    std::uint32_t count() const override { return static_cast<std::uint32_t>(all_.told_.size()); }
    std::uint32_t mine() const override { return mine_; }
    std::vector<Bytes> gather(ByteSpan told) override {
      return exchange(std::vector<Bytes>(count(), Bytes(told.begin(), told.end())));
    }
    std::vector<Bytes> exchange(std::vector<Bytes> told) override {
      all_.told_[mine_] = std::move(told);
      all_.wait_for_all();
      std::vector<Bytes> heard;
      for (std::vector<Bytes>& from : all_.told_) heard.push_back(std::move(from[mine_]));
      all_.wait_for_all();
      return heard;
    }

   private:
    ThreadRanks& all_;
    std::uint32_t mine_;
  };

  // A std::barrier spins, which takes long with more threads than cores.
  void wait_for_all() {
    std::unique_lock lock(mutex_);
    const std::uint64_t turn = turn_;
    if (++waiting_ == told_.size()) {
      waiting_ = 0;
      ++turn_;
      return all_here_.notify_all();
    }
    all_here_.wait(lock, [&] { return turn_ != turn; });
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  std::size_t waiting_ = 0;
  std::uint64_t turn_ = 0;
  std::vector<std::vector<Bytes>> told_;  // By who tells and who hears.
  std::vector<One> ranks_;
};

}  // namespace tessera
