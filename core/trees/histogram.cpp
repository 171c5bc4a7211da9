#include "trees/histogram.hpp"

#include <cstring>

#include "dispatch.hpp"

namespace podium {
namespace {

constexpr std::size_t kAhead = 24;  // rows whose bins are fetched before their turn
constexpr std::size_t kLine = 64;   // bytes of the cache

PODIUM_INLINE void add_row(const std::uint8_t* bins, std::size_t columns, Cell cell, Cell* histogram) {
  std::size_t c = 0;
  for (; c + 8 <= columns; c += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, bins + c, 8);
    Cell* at = histogram + c * kStride;
    at[0 * kStride + (eight & 255)] += cell;
    at[1 * kStride + (eight >> 8 & 255)] += cell;
    at[2 * kStride + (eight >> 16 & 255)] += cell;
    at[3 * kStride + (eight >> 24 & 255)] += cell;
    at[4 * kStride + (eight >> 32 & 255)] += cell;
    at[5 * kStride + (eight >> 40 & 255)] += cell;
    at[6 * kStride + (eight >> 48 & 255)] += cell;
    at[7 * kStride + (eight >> 56)] += cell;
  }
  for (; c < columns; ++c) histogram[c * kStride + bins[c]] += cell;
}

}  // namespace

void add_rows(const std::uint8_t* bins, std::size_t stride, std::size_t columns, const std::uint32_t* rows,
              std::size_t count, const Cell* cells, Cell* histogram) {
  if (rows == nullptr) {
    for (std::size_t i = 0; i < count; ++i) add_row(bins + i * stride, columns, cells[i], histogram);
    return;
  }
  const std::size_t steady = count > kAhead ? count - kAhead : 0;
  for (std::size_t i = 0; i < steady; ++i) {
    const std::uint8_t* next = bins + rows[i + kAhead] * stride;
    __builtin_prefetch(next);
    if (stride > kLine) __builtin_prefetch(next + kLine);
    __builtin_prefetch(cells + rows[i + kAhead]);
    add_row(bins + rows[i] * stride, columns, cells[rows[i]], histogram);
  }
  for (std::size_t i = steady; i < count; ++i) add_row(bins + rows[i] * stride, columns, cells[rows[i]], histogram);
}

}  // namespace podium
