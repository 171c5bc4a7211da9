#include "sharing/marks.hpp"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cmath>
#include <thread>

namespace podium {
namespace {

constexpr int kLooks = 500;  // some tens of microseconds

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

#if defined(__linux__)
// Sleeps until the word changes from `seen`, somebody rings, or the time is over. Other processes map the word
// elsewhere, so the futex is not a private one.
void sleep_on(std::uint32_t* word, std::uint32_t seen, double seconds) {
  const double whole = std::floor(seconds);
  const timespec limit{static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
  syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void wake(std::uint32_t* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}
#else
// Elsewhere nobody is woken: a sleeper looks again after a moment.
void sleep_on(std::uint32_t*, std::uint32_t, double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(std::min(seconds, 0.0005)));
}

void wake(std::uint32_t*) {}
#endif

}  // namespace

std::uint32_t* Marks::bell() const {
  return reinterpret_cast<std::uint32_t*>(memory_);
}

std::uint32_t* Marks::sleepers() const {
  return reinterpret_cast<std::uint32_t*>(memory_) + 1;
}

std::uint64_t Marks::at(std::size_t member) const {
  auto* mark = reinterpret_cast<std::uint64_t*>(memory_ + (member + 1) * kLine);
  return std::atomic_ref(*mark).load();
}

void Marks::set(std::size_t member, std::uint64_t step) {
  auto* mark = reinterpret_cast<std::uint64_t*>(memory_ + (member + 1) * kLine);
  std::atomic_ref(*mark).store(step);
  std::atomic_ref(*bell()).fetch_add(1);
  if (std::atomic_ref(*sleepers()).load() != 0) wake(bell());
}

bool Marks::reached(std::uint64_t step) const {
  for (std::size_t member = 0; member < members_; ++member) {
    if (at(member) < step) return false;
  }
  return true;
}

bool Marks::wait(std::uint64_t step, double seconds) const {
  for (int look = 0; look < kLooks; ++look, relax()) {
    if (reached(step)) return true;
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    // The bell is read before the marks: a mark that is set afterwards rings, and the futex does not sleep. A sleeper
    // that is killed stays counted, which only costs the others a call for every mark.
    const std::uint32_t rung = std::atomic_ref(*bell()).load();
    if (reached(step)) return true;
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return false;
    std::atomic_ref(*sleepers()).fetch_add(1);
    sleep_on(bell(), rung, left);
    std::atomic_ref(*sleepers()).fetch_sub(1);
  }
}

}  // namespace podium
