// Stopping a long computation: the thread that called the core asks the host program now and then whether to stop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace podium {

// Leaves a kernel that was asked to stop. What the kernel has written by then is incomplete.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "the computation was interrupted"; }
};

class Interruptible;

// How the computation on a thread can be stopped.
struct InterruptState {
  Interruptible* host = nullptr;
  bool polls = false;  // whether this thread is the one that asks the host program
};

// While it exists, whatever this thread calls can be stopped, on all threads that take part.
class Interruptible {
 public:
  // Asks the host program; true to stop. It is called on this thread only, about twenty times per second.
  using Poll = bool (*)();
  // Without a poll nothing changes: the calls cannot be stopped.
  explicit Interruptible(Poll poll);
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  friend bool should_stop();

  const Poll poll_;
  std::int64_t next_poll_ = 0;  // on the coarse clock, in nanoseconds
  std::atomic<bool> stopped_{false};
  const InterruptState before_;
};

// While it exists, this thread helps with a computation of another thread and stops when that one stops.
class InterruptGuest {
 public:
  explicit InterruptGuest(Interruptible* host);
  ~InterruptGuest();
  InterruptGuest(const InterruptGuest&) = delete;
  InterruptGuest& operator=(const InterruptGuest&) = delete;

  // What can stop the computation on this thread, or null.
  static Interruptible* current_host();

 private:
  const InterruptState before_;
};

// Whether the computation on this thread has been asked to stop. It takes a few nanoseconds.
bool should_stop();

// Throws Interrupted if the computation on this thread has been asked to stop.
inline void check_interrupt() {
  if (should_stop()) throw Interrupted();
}

// A long loop checks for an interrupt once every so many steps, some milliseconds apart.
inline constexpr std::size_t kInterruptSteps = std::size_t{1} << 20;

// Cuts a loop over rows that take `steps_per_row` steps each into blocks, with a check for an interrupt between two of
// them. A short loop is one block and pays nothing. Blocks begin at multiples of four.
//
//     for (InterruptBlocks block(rows, steps); block.next();) {
//       for (std::size_t row = block.begin(); row < block.end(); ++row) …
//     }
class InterruptBlocks {
 public:
  InterruptBlocks(std::size_t rows, std::size_t steps_per_row)
      : rows_(rows), size_((kInterruptSteps / (steps_per_row + 1) + 4) / 4 * 4) {}
  bool next() {
    if (end_ >= rows_) return false;
    if (end_ > 0) check_interrupt();
    begin_ = end_;
    end_ = rows_ - begin_ < size_ ? rows_ : begin_ + size_;
    return true;
  }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }

 private:
  const std::size_t rows_, size_;
  std::size_t begin_ = 0, end_ = 0;
};

// The same for loops whose steps are not known in advance: counts the steps and checks when there are enough of them.
class InterruptPace {
 public:
  void step(std::size_t steps) {
    if (steps < left_) {
      left_ -= steps;
    } else {
      left_ = kInterruptSteps;
      check_interrupt();
    }
  }

 private:
  std::size_t left_ = kInterruptSteps;
};

}  // namespace podium
