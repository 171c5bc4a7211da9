// Working memory that tasks borrow one after the other, so that it is allocated once.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace podium {

// Makes room for so many numbers; memory that is kept from task to task never shrinks.
template <class T>
void reserve(std::vector<T>& numbers, std::size_t count) {
  if (numbers.size() < count) numbers.resize(count);
}

// Each task on each thread borrows its own scratch memory. It belongs to this object and not to the threads, which
// live as long as the process.
template <class Scratch>
class ScratchPool {
 public:
  class Loan {
   public:
    explicit Loan(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~Loan() { pool_.give_back(std::move(scratch_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Scratch& operator*() const { return *scratch_; }

   private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
  };

 private:
  std::unique_ptr<Scratch> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Scratch> scratch = std::move(free_.back());
        free_.pop_back();
        return scratch;
      }
    }
    return std::make_unique<Scratch>();
  }

  void give_back(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(scratch));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> free_;
};

}  // namespace podium
