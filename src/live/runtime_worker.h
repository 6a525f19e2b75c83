// One thread beside the event loop, for what takes long: training and evaluation. Jobs run one at a
// time in the order they were posted.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tessera {

class RuntimeWorker {
 public:
  RuntimeWorker();
  ~RuntimeWorker();  // Waits for the job under way and forgets the others.
  RuntimeWorker(const RuntimeWorker&) = delete;
  RuntimeWorker& operator=(const RuntimeWorker&) = delete;

  void post(std::function<void()> job);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace tessera
