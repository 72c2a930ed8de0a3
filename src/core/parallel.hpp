// Run the same function on several threads; an exception in any of them reaches the caller.
#pragma once

#include <exception>
#include <thread>
#include <vector>

namespace volt {

// Threads that run serve(1), serve(2), ... up to below `size`; fewer where the system gives no more (a
// limit of processes, no room for a stack): the caller has what is left to do.
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

}  // namespace volt
