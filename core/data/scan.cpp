#include "data/scan.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace podium {
namespace {

PODIUM_INLINE bool scan(const float* values, std::size_t count) {
  int any = 0;
  for (std::size_t i = 0; i < count; ++i) any |= std::fabs(values[i]) > std::numeric_limits<float>::max();
  return any != 0;
}

PODIUM_AVX2 bool scan_avx2(const float* values, std::size_t count) {
  return scan(values, count);
}

bool any_infinite(const float* values, std::size_t count) {
  return has_avx2() ? scan_avx2(values, count) : scan(values, count);
}

}  // namespace

std::int64_t first_infinite(const float* values, std::size_t count, int num_threads) {
  std::atomic<std::int64_t> first{std::numeric_limits<std::int64_t>::max()};
  parallel_for(count, num_threads, 1 << 18, [&](std::size_t begin, std::size_t end) {
    if (!any_infinite(values + begin, end - begin)) return;
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
