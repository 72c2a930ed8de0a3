// Threads that wait for short pieces of work: cheaper than starting new threads thousands of times per
// second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/parallel.hpp"

namespace volt {

class Crew {
 public:
  explicit Crew(unsigned size)
      : failures_(size), threads_(start_threads(size, [this](unsigned i) { serve(i); })) {}
  ~Crew() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      ++round_;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Call work(0), work(1), ... each on its own thread if there are enough, and wait for all.
  template <class Work>
  void run(Work&& work) {
    poll();
    {
      std::lock_guard lock(mutex_);
      call_ = call_at_work();  // a crew may live longer than the call that made it
      work_ = std::ref(work);
      left_.store(static_cast<unsigned>(threads_.size()));
      ++round_;
    }
    wake_.notify_all();
    attempt(0);
    for (size_t i = threads_.size() + 1; i < failures_.size(); ++i) attempt(static_cast<unsigned>(i));
    while (left_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    for (auto& failure : failures_)
      if (failure) std::rethrow_exception(std::exchange(failure, nullptr));
  }

 private:
  void attempt(unsigned index) {
    try {
      work_(index);
    } catch (...) {
      failures_[index] = std::current_exception();
    }
  }
  void serve(unsigned index) {
    for (unsigned seen = 0;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return round_ != seen; });
        seen = round_;
        if (stopping_) return;
        Call::helped() = call_;
      }
      attempt(index);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }

  Call* call_ = nullptr;  // that the work is for
  std::mutex mutex_;
  std::condition_variable wake_;
  std::function<void(unsigned)> work_;
  unsigned round_ = 0;
  bool stopping_ = false;
  std::atomic<unsigned> left_{0};
  std::vector<std::exception_ptr> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace volt
