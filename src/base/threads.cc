#include "base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>

namespace tessera {

struct Workers::Job {
  const std::function<void(std::size_t, unsigned)>& body;
  const std::size_t count;
  std::atomic<std::size_t> next{0};
  std::mutex mutex{};
  std::size_t failed_index = 0;
  std::exception_ptr failure{};
};

unsigned threads_or_one_per_core(unsigned threads) {
  return threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

Workers::Workers(unsigned threads) {
  threads = threads_or_one_per_core(threads);
  try {
    for (unsigned worker = 1; worker < threads; ++worker)
      pool_.emplace_back([this, worker] { work(worker); });
  } catch (...) {
    // The system has no more threads to give. Those it gave wait for work, and would be waited for.
    close();
    throw;
  }
}

void Workers::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
}

Workers::~Workers() {
  close();
}

void Workers::for_each(std::size_t count, const std::function<void(std::size_t)>& body) {
  for_each(count, [&body](std::size_t index, unsigned) { body(index); });
}

void Workers::for_each(std::size_t count, const std::function<void(std::size_t, unsigned)>& body) {
  Job job{.body = body, .count = count};
  const bool share = count > 1 && !pool_.empty();
  if (share) {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      ++generation_;
    }
    wake_.notify_all();
  }
  take_from(job, 0);
  if (share) {
    std::unique_lock lock(mutex_);
    // Who has not woken by now finds nothing to do, and is not waited for.
    job_ = nullptr;
    done_.wait(lock, [this] { return busy_ == 0; });
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

void Workers::work(unsigned worker) {
  std::size_t seen = 0;
  for (;;) {
    Job* job = nullptr;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return closing_ || (job_ && generation_ != seen); });
      if (closing_) return;
      seen = generation_;
      job = job_;
      ++busy_;
    }
    take_from(*job, worker);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

void Workers::take_from(Job& job, unsigned worker) {
  for (std::size_t index; (index = job.next.fetch_add(1)) < job.count;) {
    try {
      job.body(index, worker);
    } catch (...) {
      const std::lock_guard lock(job.mutex);
      if (!job.failure || index < job.failed_index) {
        job.failed_index = index;
        job.failure = std::current_exception();
      }
    }
  }
}

}  // namespace tessera
