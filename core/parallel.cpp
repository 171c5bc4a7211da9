#include "parallel.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace podium {
namespace {

constexpr int kSpins = 4000;                               // some tens of microseconds
constexpr auto kPatience = std::chrono::milliseconds(50);  // between two checks for an interrupt

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// One running loop. It lives on the stack of its caller, who leaves only when no helper is active.
struct Job {
  const ParallelLoop& loop;
  Interruptible* const host;
  std::size_t seats;  // helpers that may still join; guarded by the pool's mutex
  std::atomic<std::size_t> next{0}, active{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure = nullptr;

  void fail() {
    if (!failed.exchange(true)) failure = std::current_exception();
    next.store(loop.count);
  }

  void take_ranges() {
    try {
      for (std::size_t begin; (begin = next.fetch_add(loop.grain)) < loop.count;) {
        check_interrupt();
        loop.body(loop.context, begin, std::min(loop.count, begin + loop.grain));
      }
    } catch (...) {
      fail();
    }
  }
};

class Pool {
 public:
  void run(Job& job) {
    open(job);
    job.take_ranges();
    close(job);
    wait(job);
    if (job.failure) std::rethrow_exception(std::exchange(job.failure, nullptr));
  }

  // A thread that forks holds the mutex meanwhile, so that no other thread leaves it locked in the child.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  void open(Job& job) {
    std::size_t sleepers = 0;
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(&job);
      const std::size_t seats = seats_.fetch_add(job.seats) + job.seats;
      while (idle_.load() < seats && start_helper()) continue;
      const std::size_t watching = idle_.load() - asleep_;
      sleepers = seats > watching ? std::min(seats - watching, asleep_) : 0;
    }
    for (; sleepers > 0; --sleepers) work_.notify_one();
  }

  // After this no helper joins.
  void close(Job& job) {
    const std::lock_guard lock(mutex_);
    if (job.seats == 0) return;
    seats_.fetch_sub(std::exchange(job.seats, 0));
    std::erase(open_, &job);
  }

  // The calling thread notices an interrupt here too, when only the helpers have work left.
  void wait(Job& job) {
    for (int spin = 0; spin < kSpins && job.active.load() != 0; ++spin) relax();
    if (job.active.load() == 0) return;
    waiting_.fetch_add(1);
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, kPatience, [&] { return job.active.load() == 0; })) {
      lock.unlock();
      try {
        check_interrupt();
      } catch (...) {
        job.fail();
      }
      lock.lock();
    }
    waiting_.fetch_sub(1);
  }

  // Signals are left to the threads of the host program. Returns false if the system has no more threads.
  bool start_helper() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = true;
    try {
      std::thread([this] { serve(); }).detach();
      idle_.fetch_add(1);
    } catch (const std::system_error&) {
      started = false;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  }

  [[noreturn]] void serve() {
    for (;;) {
      for (int spin = 0; spin < kSpins && seats_.load(std::memory_order_relaxed) == 0; ++spin) relax();
      Job& job = join();
      {
        const InterruptGuest guest(job.host);
        job.take_ranges();
      }
      idle_.fetch_add(1);
      job.active.fetch_sub(1);  // from here on the job may be gone
      if (waiting_.load() == 0) continue;
      {
        const std::lock_guard lock(mutex_);
      }
      done_.notify_all();
    }
  }

  Job& join() {
    std::unique_lock lock(mutex_);
    ++asleep_;
    work_.wait(lock, [&] { return !open_.empty(); });
    --asleep_;
    idle_.fetch_sub(1);
    Job& job = *open_.front();
    job.active.fetch_add(1);
    seats_.fetch_sub(1);
    if (--job.seats == 0) std::erase(open_, &job);
    return job;
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::vector<Job*> open_;               // jobs with free seats
  std::atomic<std::size_t> seats_{0};    // free seats of all open jobs
  std::atomic<std::size_t> waiting_{0};  // callers that sleep until their helpers are done
  std::atomic<std::size_t> idle_{0};     // helpers without a job
  std::size_t asleep_ = 0;               // those of them that sleep
};

// The pool is never destroyed: its threads may outlive every static object.
std::atomic<Pool*> shared_pool{nullptr};

Pool& pool() {
  Pool* held = shared_pool.load();
  if (held != nullptr) return *held;
  auto* const made = new Pool;
  if (shared_pool.compare_exchange_strong(held, made)) return *made;
  delete made;
  return *held;
}

// In a child process the pool's threads do not exist, so it starts over with a new pool.
[[maybe_unused]] const int registered = pthread_atfork(
    [] {
      if (Pool* const held = shared_pool.load()) held->before_fork();
    },
    [] {
      if (Pool* const held = shared_pool.load()) held->after_fork();
    },
    [] { shared_pool.store(nullptr); });

}  // namespace

void run_parallel(const ParallelLoop& loop, std::size_t num_threads) {
  const std::size_t ranges = (loop.count + loop.grain - 1) / loop.grain;
  Job job{loop, InterruptGuest::current_host(), std::min(num_threads, ranges) - 1};
  pool().run(job);
}

}  // namespace podium
