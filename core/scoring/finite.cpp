#include "scoring/finite.hpp"

#include <atomic>
#include <cmath>
#include <limits>

#include "dispatch.hpp"
#include "parallel.hpp"

namespace podium {
namespace {

constexpr std::size_t kGrain = std::size_t{1} << 17;  // values that one thread looks at

template <class T>
PODIUM_INLINE bool scan(const T* values, std::size_t count, std::ptrdiff_t stride) {
  int any = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(values[static_cast<std::ptrdiff_t>(i) * stride]);
    any |= std::fabs(value) > std::numeric_limits<float>::max();
  }
  return any != 0;
}

template <class T>
PODIUM_AVX2 bool scan_avx2(const T* values, std::size_t count) {
  return scan(values, count, 1);
}

template <class T>
bool scan_line(const T* values, std::size_t count, std::ptrdiff_t stride) {
  if (stride != 1) return scan(values, count, stride);
  return has_avx2() ? scan_avx2(values, count) : scan(values, count, 1);
}

}  // namespace

template <class T>
bool any_infinite(const ScoreTable<T>& table, int num_threads) {
  // Lines are rows, or columns if those are contiguous.
  const bool by_columns = table.row_stride == 1 && table.column_stride != 1;
  const std::size_t lines = by_columns ? table.features : table.rows, length = by_columns ? table.rows : table.features;
  const std::ptrdiff_t step = by_columns ? table.column_stride : table.row_stride,
                       stride = by_columns ? table.row_stride : table.column_stride;
  std::atomic<bool> found{false};
  parallel_for(lines, num_threads, kGrain / (length + 1) + 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t line = begin; line < end && !found.load(std::memory_order_relaxed); ++line) {
      const T* first = table.values + static_cast<std::ptrdiff_t>(line) * step;
      if (scan_line(first, length, stride)) found.store(true, std::memory_order_relaxed);
    }
  });
  return found.load();
}
template bool any_infinite(const ScoreTable<float>&, int);
template bool any_infinite(const ScoreTable<double>&, int);

}  // namespace podium
