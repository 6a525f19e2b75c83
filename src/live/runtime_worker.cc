#include "live/runtime_worker.h"

#include <utility>

namespace tessera {

RuntimeWorker::RuntimeWorker() : thread_([this] { work(); }) {}

RuntimeWorker::~RuntimeWorker() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    jobs_.clear();
  }
  wake_.notify_one();
  thread_.join();
}

void RuntimeWorker::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void RuntimeWorker::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
    if (closing_) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // What it holds is let go of without the lock.
    lock.lock();
  }
}

}  // namespace tessera
