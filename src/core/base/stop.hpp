// Stopping long work. Loops call poll(), which is cheap. Where the work was started from Python, the thread
// that started it looks for signals every few milliseconds, and an exception there stops the other threads
// of the same call. stop_all() stops the calls of all threads that are running.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>

namespace volt {

class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped"; }
};

// One call of native code and all threads that work for it.
class Call {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween{20};

  // `check` is called from time to time on the thread that made the call. It may throw.
  explicit Call(std::function<void()> check)
      : check_(std::move(check)), round_(rounds().load()), last_(Clock::now()), outer_(current()) {
    current() = this;
  }
  ~Call() { current() = outer_; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  void look(bool is_owner) {
    looks().fetch_add(1, std::memory_order_relaxed);
    if (stopped_.load(std::memory_order_relaxed) || rounds().load(std::memory_order_relaxed) != round_)
      throw Stopped();
    if (!is_owner) return;
    const auto now = Clock::now();
    if (now - last_ < kBetween) return;
    last_ = now;
    try {
      check_();
    } catch (...) {
      stopped_ = true;
      throw;
    }
  }

  // The call that this thread made; null in programs without Python.
  static Call*& current() {
    static thread_local Call* call = nullptr;
    return call;
  }
  // The call that this thread helps with.
  static Call*& helped() {
    static thread_local Call* call = nullptr;
    return call;
  }
  // How often any call has looked: tests count them.
  static std::atomic<uint64_t>& looks() {
    static std::atomic<uint64_t> number{0};
    return number;
  }
  static std::atomic<uint64_t>& rounds() {
    static std::atomic<uint64_t> number{0};
    return number;
  }

 private:
  std::function<void()> check_;
  uint64_t round_;
  Clock::time_point last_;
  Call* outer_;
  std::atomic<bool> stopped_{false};
};

inline void stop_all() { ++Call::rounds(); }

// The call that this thread works for.
inline Call* call_at_work() { return Call::current() ? Call::current() : Call::helped(); }

inline void poll_now() {
  if (Call* own = Call::current()) own->look(true);
  else if (Call* other = Call::helped()) other->look(false);
}

// To be called once per item of a loop that may run long. Every 64th call looks at the clock.
inline void poll() {
  static thread_local uint32_t calls = 0;
  if ((++calls & 63) == 0) poll_now();
}

// For loops whose items differ much in size, or are too small for poll(): looks when so much work is done.
class PollEvery {
 public:
  explicit PollEvery(size_t work) : work_(work) {}
  void done(size_t work) {
    if ((sum_ += work) < work_) [[likely]] return;
    sum_ = 0;
    poll_now();
  }

 private:
  const size_t work_;
  size_t sum_ = 0;
};

// std::sort that can be stopped. A million items take 100 ms and more.
template <class Iterator, class Less>
void sort_stoppable(Iterator first, Iterator last, Less less) {
  uint32_t calls = 0;
  std::sort(first, last, [&](const auto& a, const auto& b) {
    if ((++calls & 0x3FFF) == 0) poll_now();
    return less(a, b);
  });
}

}  // namespace volt
