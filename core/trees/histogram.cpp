#include "trees/histogram.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dispatch.hpp"

namespace podium {
namespace {

constexpr std::size_t kAhead = 32;           // rows that are prefetched
constexpr std::size_t kLine = 64;            // bytes of a cache line
constexpr std::size_t kChunk = 384;          // rows that are added up by eights of columns
constexpr std::size_t kPitch = kChunk + 12;  // not a power of two, for the same reason as kStride
constexpr std::size_t kEights = 16;          // groups of eight columns at most per pass

// Rows of a chunk, transposed: one word holds the bins of eight columns, and the words of eight columns are contiguous.
template <class Cell>
struct Turned {
  std::uint64_t words[kEights * kPitch];
  Cell cells[kChunk];
};

template <class Cell>
PODIUM_INLINE void turn_row(const std::uint8_t* bins, std::size_t eights, std::size_t at, Turned<Cell>& turned) {
  for (std::size_t e = 0; e < eights; ++e) std::memcpy(turned.words + e * kPitch + at, bins + e * 8, 8);
}

template <class Cell>
void turn(const std::uint8_t* bins, std::size_t stride, std::size_t eights, const std::uint32_t* rows,
          std::size_t count, std::size_t after, const Cell* cells, Turned<Cell>& turned) {
  if (rows == nullptr) {
    for (std::size_t i = 0; i < count; ++i) turn_row(bins + i * stride, eights, i, turned);
    std::memcpy(turned.cells, cells, count * sizeof(Cell));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count + after) {
      const std::uint8_t* next = bins + rows[i + kAhead] * stride;
      __builtin_prefetch(next);
      if (stride > kLine) __builtin_prefetch(next + kLine);
      __builtin_prefetch(cells + rows[i + kAhead]);
    }
    turn_row(bins + rows[i] * stride, eights, i, turned);
    turned.cells[i] = cells[rows[i]];
  }
}

// Adds a chunk to the histograms of up to eight columns, which stay in the first-level cache.
template <class Cell, std::size_t kColumns>
void add_columns(const std::uint64_t* words, const Cell* cells, std::size_t count, Cell* at) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t eight = words[i];
    const Cell cell = cells[i];
    [&]<std::size_t... kColumn>(std::index_sequence<kColumn...>) {
      ((at[kColumn * kStride + (eight >> 8 * kColumn & 255)] += cell), ...);
    }(std::make_index_sequence<kColumns>{});
  }
}

template <class Cell>
using AddColumns = void (*)(const std::uint64_t*, const Cell*, std::size_t, Cell*);
template <class Cell>
constexpr AddColumns<Cell> kAddColumns[] = {
    nullptr,
    add_columns<Cell, 1>,
    add_columns<Cell, 2>,
    add_columns<Cell, 3>,
    add_columns<Cell, 4>,
    add_columns<Cell, 5>,
    add_columns<Cell, 6>,
    add_columns<Cell, 7>,
    add_columns<Cell, 8>,
};

}  // namespace

template <class Cell>
void add_rows(const std::uint8_t* bins, std::size_t stride, std::size_t columns, const std::uint32_t* rows,
              std::size_t count, const Cell* cells, Cell* histogram) {
  Turned<Cell> turned;
  for (; columns > 0; bins += kEights * 8, histogram += kEights * 8 * kStride) {
    const std::size_t width = std::min(columns, kEights * 8), eights = (width + 7) / 8;
    columns -= width;
    for (std::size_t done = 0; done < count; done += kChunk) {
      const std::size_t chunk = std::min(kChunk, count - done), after = count - done - chunk;
      if (rows) {
        turn(bins, stride, eights, rows + done, chunk, after, cells, turned);
      } else {
        turn(bins + done * stride, stride, eights, nullptr, chunk, after, cells + done, turned);
      }
      for (std::size_t c = 0; c < width; c += 8) {
        const std::uint64_t* words = turned.words + c / 8 * kPitch;
        const AddColumns<Cell> add = kAddColumns<Cell>[std::min<std::size_t>(8, width - c)];
        add(words, turned.cells, chunk, histogram + c * kStride);
      }
    }
  }
}

template void add_rows(const std::uint8_t*, std::size_t, std::size_t, const std::uint32_t*, std::size_t,
                       const NarrowCell*, NarrowCell*);
template void add_rows(const std::uint8_t*, std::size_t, std::size_t, const std::uint32_t*, std::size_t,
                       const WideCell*, WideCell*);

}  // namespace podium
