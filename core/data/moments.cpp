#include "data/moments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "parallel.hpp"

namespace podium {
namespace {

// Tests the bits, because a comparison of floats would keep the compiler from vectorizing over columns.
inline bool is_missing(float x) {
  return (std::bit_cast<std::uint32_t>(x) & 0x7fffffffu) > 0x7f800000u;
}

void add_row(std::size_t columns, const float* x, double* sum, double* count) {
  for (std::size_t j = 0; j < columns; ++j) {
    const bool missing = is_missing(x[j]);
    sum[j] += missing ? 0.0 : static_cast<double>(x[j]);
    count[j] += missing ? 0.0 : 1.0;
  }
}

void add_squares(std::size_t columns, const float* x, const double* mean, double* sum) {
  for (std::size_t j = 0; j < columns; ++j) {
    const double away = static_cast<double>(x[j]) - mean[j];
    sum[j] += is_missing(x[j]) ? 0.0 : away * away;
  }
}

// Returns the first query of every chunk of some thousands of rows, and the end.
std::vector<std::size_t> make_chunks(std::span<const std::int64_t> offsets, std::span<const std::int64_t> order) {
  constexpr std::int64_t kRows = 4096;
  std::vector<std::size_t> begins{0};
  std::int64_t rows = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto q = static_cast<std::size_t>(order[k]);
    rows += offsets[q + 1] - offsets[q];
    if (rows < kRows && k + 1 < order.size()) continue;
    begins.push_back(k + 1);
    rows = 0;
  }
  return begins;
}

// Adds up `add(row, sums)` for each chunk, and then the chunks in their order.
template <class Add>
std::vector<double> sum_rows(std::size_t width, std::span<const std::int64_t> offsets,
                             std::span<const std::int64_t> order, std::span<const std::size_t> chunks, int num_threads,
                             Add&& add) {
  const std::size_t count = chunks.size() - 1;
  std::vector<double> parts(count * width, 0.0), total(width, 0.0);
  parallel_for(count, num_threads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c) {
      for (std::size_t k = chunks[c]; k < chunks[c + 1]; ++k) {
        const auto q = static_cast<std::size_t>(order[k]);
        for (auto row = offsets[q]; row < offsets[q + 1]; ++row) {
          add(static_cast<std::size_t>(row), parts.data() + c * width);
        }
      }
    }
  });
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t j = 0; j < width; ++j) total[j] += parts[c * width + j];
  }
  return total;
}

}  // namespace

void column_moments(std::span<const float> features, std::size_t columns, std::span<const std::int64_t> query_offsets,
                    std::span<const std::int64_t> order, int num_threads, double* mean, double* deviation) {
  const auto chunks = make_chunks(query_offsets, order);
  const float* const x = features.data();
  const auto sums = sum_rows(2 * columns, query_offsets, order, chunks, num_threads, [&](std::size_t row, double* out) {
    add_row(columns, x + row * columns, out, out + columns);
  });
  for (std::size_t j = 0; j < columns; ++j) mean[j] = sums[j] / std::max(sums[columns + j], 1.0);
  const auto squares = sum_rows(columns, query_offsets, order, chunks, num_threads, [&](std::size_t row, double* out) {
    add_squares(columns, x + row * columns, mean, out);
  });
  for (std::size_t j = 0; j < columns; ++j) {
    deviation[j] = std::sqrt(squares[j] / std::max(sums[columns + j], 1.0));
  }
}

}  // namespace podium
