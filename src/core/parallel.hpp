// Run the same function on several threads; an exception in any of them reaches the caller.
#pragma once

#include <exception>
#include <thread>
#include <vector>

namespace volt {

template <class Function>
void run_parallel(unsigned threads, Function&& function) {
  std::vector<std::exception_ptr> failures(threads);
  std::vector<std::thread> pool;
  auto guarded = [&](unsigned index) {
    try {
      function(index);
    } catch (...) {
      failures[index] = std::current_exception();
    }
  };
  for (unsigned i = 1; i < threads; ++i) pool.emplace_back(guarded, i);
  guarded(0);
  for (auto& thread : pool) thread.join();
  for (auto& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace volt
