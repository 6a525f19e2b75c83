// A pool of worker threads for loops whose iterations do not touch each other. Which thread runs
// which iteration is left to chance; the result must not depend on it, and with sums kept in a
// fixed order it does not.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {

// What a number of threads means: 0 takes one per core.
unsigned threads_or_one_per_core(unsigned threads);

class Workers {
 public:
  // `threads` counts the caller too: 1 runs everything on the caller's thread, 0 takes one per
  // core.
  explicit Workers(unsigned threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  unsigned threads() const { return static_cast<unsigned>(pool_.size()) + 1; }

  // Runs body(0) ... body(count - 1) and returns when all are done. If some throw, the rest still
  // run and the exception of the lowest index is thrown on, so that even failures do not depend on
  // timing.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& body);
  // The same, and tells the body which of the threads() workers runs it (for scratch memory).
  void for_each(std::size_t count, const std::function<void(std::size_t, unsigned worker)>& body);

 private:
  struct Job;
  void work(unsigned worker);
  void close();
  static void take_from(Job& job, unsigned worker);

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  std::size_t generation_ = 0;
  unsigned busy_ = 0;  // Workers that have taken the job and not finished with it.
  bool closing_ = false;
  std::vector<std::jthread> pool_;
};

}  // namespace tessera
