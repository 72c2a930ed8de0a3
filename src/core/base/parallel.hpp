// Run the same function on several threads; an exception in any of them reaches the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

#include "base/stop.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace volt {

// Is there room for another thread: for its stack, and for what it needs at once? The C library allocates
// thread-local variables when a thread first uses them, and ends the process where it gets no memory.
inline bool has_room_for_thread() {
#if defined(__linux__)
  constexpr size_t kRoom = size_t{40} << 20;  // a stack has 8 MB
  void* room = mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, kRoom);
#endif
  return true;
}

// To be called first in a thread: have its thread-local variables allocated, those of the C++ library's exceptions
// too, while there is memory.
inline void begin_thread() {
  Call::helped() = nullptr;
  [[maybe_unused]] const volatile int raised = std::uncaught_exceptions();
}

// Threads that run serve(1), serve(2), ... serve(size - 1). There are fewer if the system refuses more (a
// limit of processes, no memory for a stack): the caller does the rest of the work.
template <class Serve>
std::vector<std::thread> start_threads(unsigned size, const Serve& serve) {
  std::vector<std::thread> started;
  started.reserve(size);
  try {
    for (unsigned i = 1; i < size && has_room_for_thread(); ++i)
      started.emplace_back([serve](unsigned index) {
        begin_thread();
        serve(index);
      }, i);
  } catch (const std::exception&) {
  }
  return started;
}

// Wait until so many threads have ended, and look for signals meanwhile. A signal stops them.
inline void wait_for_all(const std::atomic<unsigned>& ended, size_t threads, std::exception_ptr& failure) {
  using namespace std::chrono_literals;
  for (auto pause = 1us; ended.load() < threads; pause = std::min<std::chrono::microseconds>(2 * pause, 2ms)) {
    if (pause < 50us) std::this_thread::yield();
    else std::this_thread::sleep_for(pause);
    if (failure) continue;
    try {
      poll_now();
    } catch (...) {
      failure = std::current_exception();
    }
  }
}

// Call function(0), function(1), ... function(threads - 1), each on a thread of its own, and wait.
template <class Function>
void run_parallel(unsigned threads, Function&& function) {
  std::vector<std::exception_ptr> failures(threads);
  Call* const call = call_at_work();
  std::atomic<unsigned> ended{0};
  auto guarded = [&](unsigned index) {
    try {
      function(index);
    } catch (...) {
      failures[index] = std::current_exception();
    }
  };
  const auto helping = [&](unsigned index) {
    Call::helped() = call;
    guarded(index);
    ++ended;
  };
  std::vector<std::thread> pool = start_threads(threads, helping);
  guarded(0);
  for (unsigned i = static_cast<unsigned>(pool.size()) + 1; i < threads; ++i) guarded(i);
  wait_for_all(ended, pool.size(), failures[0]);
  for (auto& thread : pool) thread.join();
  for (auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

// Do tasks until all are taken. Several threads share `next`, so that none waits for a slower one.
template <class Work>
void take_tasks(std::atomic<size_t>& next, size_t tasks, Work&& work) {
  for (size_t task; (task = next.fetch_add(1)) < tasks;) {
    poll_now();
    work(task);
  }
}

}  // namespace volt
