// Histograms of force and curvature by bin: whole numbers in fixed point, so that sums do not depend on the order of
// addition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podium {

// Force in the high 32 bits, curvature in the low: one addition adds both. The units are powers of two, chosen so that
// the sum over all documents overflows neither.
using Cell = std::int64_t;
inline constexpr Cell make_cell(std::int64_t force, std::int64_t curvature) {
  return static_cast<Cell>((static_cast<std::uint64_t>(force) << 32) + static_cast<std::uint64_t>(curvature));
}
inline constexpr std::int64_t force_of(Cell cell) {
  return cell >> 32;
}
inline constexpr std::int64_t curvature_of(Cell cell) {
  return cell & 0xFFFFFFFF;
}

// The value of one unit of a cell.
struct Units {
  double force = 1, curvature = 1;
};

// 256 cells per column, but a stride that is not a power of two: otherwise the same bin of all columns falls on the
// same cache lines, and the kernel takes four times as long.
inline constexpr std::size_t kStride = 264;

// Adds the cells of documents to the histograms of `columns` columns whose bins are in rows of `stride` bytes. The
// i-th document is rows[i], or i if rows is null.
void add_rows(const std::uint8_t* bins, std::size_t stride, std::size_t columns, const std::uint32_t* rows,
              std::size_t count, const Cell* cells, Cell* histogram);

}  // namespace podium
