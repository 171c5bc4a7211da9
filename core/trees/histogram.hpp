// Histograms of force and curvature by bin: whole numbers in fixed point, so that sums do not depend on the order of
// addition.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace podium {

// A cell holds a sum of forces and a sum of curvatures. Their units are powers of two, chosen so that the sum over all
// documents overflows neither. The kind of cell is the template parameter `Cell` of all that works on histograms.

// Force in the high 32 bits, curvature in the low: one addition adds both.
using NarrowCell = std::int64_t;

// 64 bits for each, for so many documents that too few of 32 bits would be left for each of them. The sums are small
// enough for a double to hold them exactly.
struct alignas(16) WideCell {
  std::int64_t force, curvature;

  bool operator==(const WideCell&) const = default;
  WideCell& operator+=(const WideCell& other) {
    force += other.force, curvature += other.curvature;
    return *this;
  }
  WideCell& operator-=(const WideCell& other) {
    force -= other.force, curvature -= other.curvature;
    return *this;
  }
};
inline WideCell operator+(WideCell a, const WideCell& b) {
  return a += b;
}
inline WideCell operator-(WideCell a, const WideCell& b) {
  return a -= b;
}

template <class Cell>
inline constexpr bool kIsWide = std::same_as<Cell, WideCell>;

// Sums of forces and of curvatures are below 2 to this power.
template <class Cell>
inline constexpr int kCellBits = kIsWide<Cell> ? 51 : 31;

template <class Cell>
inline Cell make_cell(std::int64_t force, std::int64_t curvature) {
  if constexpr (kIsWide<Cell>) {
    return {force, curvature};
  } else {
    return static_cast<Cell>((static_cast<std::uint64_t>(force) << 32) + static_cast<std::uint64_t>(curvature));
  }
}
// The same sums as a wide cell, in which those of nodes are kept.
inline WideCell widened(NarrowCell cell) {
  return {cell >> 32, cell & 0xFFFFFFFF};
}
inline WideCell widened(const WideCell& cell) {
  return cell;
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
template <class Cell>
void add_rows(const std::uint8_t* bins, std::size_t stride, std::size_t columns, const std::uint32_t* rows,
              std::size_t count, const Cell* cells, Cell* histogram);

}  // namespace podium
