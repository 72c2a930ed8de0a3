// Run the same function on several threads; an exception in any of them reaches the caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace volt {

// Threads that run serve(1), serve(2), ... serve(size - 1). There are fewer if the system refuses more (a
// limit of processes, no memory for a stack): the caller does the rest of the work.
template <class Serve>
std::vector<std::thread> start_threads(unsigned size, const Serve& serve) {
  std::vector<std::thread> started;
  started.reserve(size);
  try {
    for (unsigned i = 1; i < size; ++i) started.emplace_back(serve, i);
  } catch (const std::exception&) {
  }
  return started;
}

// Call function(0), function(1), ... function(threads - 1), each on a thread of its own, and wait.
template <class Function>
void run_parallel(unsigned threads, Function&& function) {
  std::vector<std::exception_ptr> failures(threads);
  auto guarded = [&](unsigned index) {
    try {
      function(index);
    } catch (...) {
      failures[index] = std::current_exception();
    }
  };
  std::vector<std::thread> pool = start_threads(threads, guarded);
  guarded(0);
  for (unsigned i = static_cast<unsigned>(pool.size()) + 1; i < threads; ++i) guarded(i);
  for (auto& thread : pool) thread.join();
  for (auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

// Do tasks until all are taken. Several threads share `next`, so that none waits for a slower one.
template <class Work>
void take_tasks(std::atomic<size_t>& next, size_t tasks, Work&& work) {
  for (size_t task; (task = next.fetch_add(1)) < tasks;) work(task);
}

}  // namespace volt
