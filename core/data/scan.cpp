#include "data/scan.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "parallel.hpp"

namespace podium {

std::int64_t first_infinite(const float* values, std::size_t count, int num_threads) {
  std::atomic<std::int64_t> first{std::numeric_limits<std::int64_t>::max()};
  parallel_for(count, num_threads, 1 << 18, [&](std::size_t begin, std::size_t end) {
    int any = 0;
    for (std::size_t i = begin; i < end; ++i) any |= std::fabs(values[i]) > std::numeric_limits<float>::max();
    if (!any) return;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isinf(values[i])) continue;
      std::int64_t seen = first.load();
      while (static_cast<std::int64_t>(i) < seen && !first.compare_exchange_weak(seen, static_cast<std::int64_t>(i))) {
      }
      return;
    }
  });
  return first == std::numeric_limits<std::int64_t>::max() ? -1 : first.load();
}

}  // namespace podium
