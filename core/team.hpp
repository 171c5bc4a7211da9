// A team of threads for work that comes in many small steps: they spin for a moment between steps, then sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace podium {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Team {
 public:
  explicit Team(int num_threads) {
    const std::size_t others = static_cast<std::size_t>(std::max(num_threads, 1)) - 1;
    threads_.reserve(others);
    try {
      for (std::size_t t = 0; t < others; ++t) threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {  // fewer threads than asked for; the caller's always works
    }
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    stopping_ = true;
    call_.fetch_add(1);
    call_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  std::size_t size() const { return threads_.size() + 1; }

  // Calls body(begin, end) for ranges that cover [0, count), each at most `grain` long. Which thread takes which range
  // is left to chance, so each range writes only what it owns. The first exception comes out here. `worth` false: the
  // caller does it all, because waking the others would cost more.
  template <class Body>
  void loop(std::size_t count, std::size_t grain, bool worth, Body&& body) {
    if (count == 0) return;
    grain = std::max<std::size_t>(grain, 1);
    if (threads_.empty() || !worth || count <= grain) {
      for (std::size_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
      return;
    }
    using Plain = std::remove_reference_t<Body>;
    run_ = [](void* context, std::size_t begin, std::size_t end) { (*static_cast<Plain*>(context))(begin, end); };
    context_ = const_cast<std::remove_const_t<Plain>*>(&body);
    count_ = count, grain_ = grain;
    next_.store(0);
    failed_.store(false);
    failure_ = nullptr;
    open_.store(true);
    call_.fetch_add(1);
    call_.notify_all();
    take();
    open_.store(false);
    while (active_.load() != 0) relax();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  static constexpr int kSpins = 4000;  // some tens of microseconds

  void take() {
    try {
      for (std::size_t begin; (begin = next_.fetch_add(grain_)) < count_;) {
        run_(context_, begin, std::min(count_, begin + grain_));
      }
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
      next_.store(count_);
    }
  }

  void serve() {
    std::uint64_t seen = 0;
    for (;;) {
      for (int spin = 0; spin < kSpins && call_.load() == seen; ++spin) relax();
      call_.wait(seen);
      seen = call_.load();
      if (stopping_) return;
      // The caller changes the work only while nobody is active and the door is closed, so whoever is counted as
      // active before the door closes finds the work whole.
      active_.fetch_add(1);
      if (open_.load()) take();
      active_.fetch_sub(1);
    }
  }

  std::vector<std::thread> threads_;
  std::atomic<std::uint64_t> call_{0};
  std::atomic<std::size_t> next_{0}, active_{0};
  std::atomic<bool> open_{false}, failed_{false}, stopping_{false};
  std::exception_ptr failure_;
  void (*run_)(void*, std::size_t, std::size_t) = nullptr;
  void* context_ = nullptr;
  std::size_t count_ = 0, grain_ = 1;
};

}  // namespace podium
