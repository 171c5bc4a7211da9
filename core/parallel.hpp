// The one parallel loop of the core: whole items (queries, blocks of rows) handed out in chunks.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace podium {

// As many threads as the system gives, at most `count`.
template <class Work>
std::vector<std::thread> start_threads(std::size_t count, Work& work) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    for (std::size_t t = 0; t < count; ++t) threads.emplace_back([&work] { work(); });
  } catch (const std::system_error&) {
  }
  return threads;
}

// Calls body(begin, end) for consecutive ranges that cover [0, count), each at most `grain` long, on up to
// `num_threads` threads, the caller's included; fewer where the system gives no more. Which thread takes which range is
// left to chance, so a result must never depend on it: each range writes only what it owns. If a body throws, the
// ranges not yet begun are left out and the first exception comes out here.
template <class Body>
void parallel_for(std::size_t count, int num_threads, std::size_t grain, Body&& body) {
  grain = std::max<std::size_t>(grain, 1);
  const std::size_t chunks = (count + grain - 1) / grain;
  const std::size_t threads = std::min<std::size_t>(static_cast<std::size_t>(std::max(num_threads, 1)), chunks);
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  auto work = [&] {
    try {
      for (std::size_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
        body(chunk * grain, std::min(count, (chunk + 1) * grain));
      }
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
      next.store(chunks);
    }
  };
  std::vector<std::thread> others = start_threads(threads == 0 ? 0 : threads - 1, work);
  work();
  for (auto& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace podium
