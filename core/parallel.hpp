// The one parallel loop of the core: whole items (queries, blocks of rows) handed out in chunks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace podium {

// Calls body(begin, end) for consecutive ranges that cover [0, count), each at most `grain` long, on up to
// `num_threads` threads, the caller's included. Which thread takes which range is left to chance, so a
// result must never depend on it: each range writes only what it owns. The body must not throw.
template <class Body>
void parallel_for(std::size_t count, int num_threads, std::size_t grain, Body&& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t chunks = (count + grain - 1) / grain;
  const std::size_t threads = std::min<std::size_t>(std::max(num_threads, 1), chunks);
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      body(chunk * grain, std::min(count, (chunk + 1) * grain));
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (auto& other : others) other.join();
}

}  // namespace podium
