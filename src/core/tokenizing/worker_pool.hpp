// The workers of an encoder. They keep what they remember from call to call; a call borrows one for
// each of its threads.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tokenizing/encode_worker.hpp"

namespace volt {

class WorkerPool {
 public:
  explicit WorkerPool(const EncodeTables& tables) : tables_(tables) {}

  // A worker for as long as this lives. The one used last comes first: it remembers most.
  class Borrowed {
   public:
    explicit Borrowed(WorkerPool& pool) : pool_(pool) {
      if (const auto lock = pool_.lock()) {
        if (pool_.idle_.empty()) {
          pool_.idle_.reserve(++pool_.workers_);  // so that giving back can't fail
        } else {
          worker_ = std::move(pool_.idle_.back());
          pool_.idle_.pop_back();
        }
        counted_ = true;
      }
      if (!worker_) worker_ = std::make_unique<EncodeWorker>(pool_.tables_);
    }
    ~Borrowed() {
      if (!counted_) return;
      if (const auto lock = pool_.lock()) pool_.idle_.push_back(std::move(worker_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    EncodeWorker& operator*() const { return *worker_; }
    EncodeWorker* operator->() const { return worker_.get(); }

   private:
    WorkerPool& pool_;
    std::unique_ptr<EncodeWorker> worker_;
    bool counted_ = false;  // is there room for it in the pool?
  };

 private:
  // The lock, held for a few instructions at a time. In a forked child the thread that holds it may be
  // gone; then it can't be had, and the call does without the pool.
  std::unique_lock<std::mutex> lock() {
    for (int tries = 0; tries < kMostTries; ++tries) {
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (lock) return lock;
      std::this_thread::yield();
    }
    return {};
  }

  static constexpr int kMostTries = 1000;
  const EncodeTables& tables_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeWorker>> idle_;
  size_t workers_ = 0;
};

}  // namespace volt
