// Parallel loops, the only way in which the core uses several threads: a pool of threads works on ranges of the loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "interrupt.hpp"

namespace podium {

// A loop without its type: body(context, begin, end) for ranges of at most `grain` items that cover [0, count).
struct ParallelLoop {
  void (*body)(void* context, std::size_t begin, std::size_t end);
  void* context;
  std::size_t count, grain;
};

// Runs a loop on the pool, with the caller as one of at most `num_threads` threads.
//
// The pool's threads are started when they are first needed and kept until the process ends. Between loops they spin
// for some tens of microseconds and then sleep. A child process begins with no pool of its own, so
// that forking is safe while no loop runs.
void run_parallel(const ParallelLoop& loop, std::size_t num_threads);

// Calls body(begin, end) for ranges of at most `grain` items that cover [0, count), on up to `num_threads` threads
// including the caller's. Which thread gets which range is not defined, so a result must not depend on it: each range
// writes only what it owns, or adds integers. If a body throws, no further range is started and the first exception
// leaves this call. Between ranges an interrupt is noticed.
template <class Body>
void parallel_for(std::size_t count, int num_threads, std::size_t grain, Body&& body) {
  if (count == 0) return;
  grain = std::max<std::size_t>(grain, 1);
  if (count <= grain) return body(std::size_t{0}, count);
  if (num_threads <= 1) {
    for (std::size_t begin = 0; begin < count; begin += grain) {
      check_interrupt();
      body(begin, std::min(count, begin + grain));
    }
    return;
  }
  using Plain = std::remove_reference_t<Body>;
  const auto call = [](void* context, std::size_t begin, std::size_t end) {
    (*static_cast<Plain*>(context))(begin, end);
  };
  run_parallel({call, const_cast<std::remove_const_t<Plain>*>(&body), count, grain},
               static_cast<std::size_t>(num_threads));
}

}  // namespace podium
