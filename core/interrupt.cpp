#include "interrupt.hpp"

#include <ctime>

namespace podium {
namespace {

constexpr std::int64_t kPollInterval = 50'000'000;  // nanoseconds

thread_local InterruptState current;

// The coarse clock is good to some milliseconds and is read in a few nanoseconds.
std::int64_t coarse_now() {
#if defined(CLOCK_MONOTONIC_COARSE)
  constexpr clockid_t kClock = CLOCK_MONOTONIC_COARSE;
#else
  constexpr clockid_t kClock = CLOCK_MONOTONIC;
#endif
  timespec now{};
  clock_gettime(kClock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Interruptible::Interruptible(Poll poll) : poll_(poll), before_(current) {
  if (poll_ == nullptr) return;
  next_poll_ = coarse_now() + kPollInterval;
  current = {this, true};
}

Interruptible::~Interruptible() {
  current = before_;
}

InterruptGuest::InterruptGuest(Interruptible* host) : before_(current) {
  current = {host, false};
}

InterruptGuest::~InterruptGuest() {
  current = before_;
}

Interruptible* InterruptGuest::current_host() {
  return current.host;
}

bool should_stop() {
  const InterruptState state = current;
  if (state.host == nullptr) return false;
  Interruptible& host = *state.host;
  if (host.stopped_.load(std::memory_order_relaxed)) return true;
  if (!state.polls || coarse_now() < host.next_poll_) return false;
  if (host.poll_()) {
    host.stopped_.store(true, std::memory_order_relaxed);
    return true;
  }
  host.next_poll_ = coarse_now() + kPollInterval;
  return false;
}

}  // namespace podium
