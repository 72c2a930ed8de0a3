// The workers of an encoder. They keep what they remember from call to call; a call borrows one for
// each of its threads.
#pragma once

#include <memory>
#include <mutex>
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
      std::lock_guard lock(pool_.mutex_);
      if (pool_.idle_.empty()) {
        worker_ = std::make_unique<EncodeWorker>(pool_.tables_);
        pool_.idle_.reserve(++pool_.workers_);  // so that giving back can't fail
      } else {
        worker_ = std::move(pool_.idle_.back());
        pool_.idle_.pop_back();
      }
    }
    ~Borrowed() {
      std::lock_guard lock(pool_.mutex_);
      pool_.idle_.push_back(std::move(worker_));
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    EncodeWorker& operator*() const { return *worker_; }
    EncodeWorker* operator->() const { return worker_.get(); }

   private:
    WorkerPool& pool_;
    std::unique_ptr<EncodeWorker> worker_;
  };

 private:
  const EncodeTables& tables_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<EncodeWorker>> idle_;
  size_t workers_ = 0;
};

}  // namespace volt
