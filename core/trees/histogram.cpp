#include "trees/histogram.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"

namespace podium {
namespace {

constexpr std::size_t kAhead = 32;           // rows that are fetched before their turn
constexpr std::size_t kLine = 64;            // bytes of the cache
constexpr std::size_t kChunk = 384;          // rows that are added up by eights of columns
constexpr std::size_t kPitch = kChunk + 12;  // no power of two, for the same reason as kStride
constexpr std::size_t kEights = 16;          // of columns at most, in one go

// Rows of a chunk, turned round: the bins of eight columns a word, the words of eight columns one after the other.
struct Turned {
  std::uint64_t words[kEights * kPitch];
  Cell cells[kChunk];
};

PODIUM_INLINE void turn_row(const std::uint8_t* bins, std::size_t eights, std::size_t at, Turned& turned) {
  for (std::size_t e = 0; e < eights; ++e) std::memcpy(turned.words + e * kPitch + at, bins + e * 8, 8);
}

void turn(const std::uint8_t* bins, std::size_t stride, std::size_t eights, const std::uint32_t* rows,
          std::size_t count, std::size_t after, const Cell* cells, Turned& turned) {
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

// Adds a chunk to the histograms of eight columns, which stay in the first cache meanwhile.
void add_eight(const std::uint64_t* words, const Cell* cells, std::size_t count, Cell* at) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t eight = words[i];
    const Cell cell = cells[i];
    at[0 * kStride + (eight & 255)] += cell;
    at[1 * kStride + (eight >> 8 & 255)] += cell;
    at[2 * kStride + (eight >> 16 & 255)] += cell;
    at[3 * kStride + (eight >> 24 & 255)] += cell;
    at[4 * kStride + (eight >> 32 & 255)] += cell;
    at[5 * kStride + (eight >> 40 & 255)] += cell;
    at[6 * kStride + (eight >> 48 & 255)] += cell;
    at[7 * kStride + (eight >> 56)] += cell;
  }
}

void add_few(const std::uint64_t* words, const Cell* cells, std::size_t count, std::size_t columns, Cell* at) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t c = 0; c < columns; ++c) at[c * kStride + (words[i] >> 8 * c & 255)] += cells[i];
  }
}

}  // namespace

void add_rows(const std::uint8_t* bins, std::size_t stride, std::size_t columns, const std::uint32_t* rows,
              std::size_t count, const Cell* cells, Cell* histogram) {
  Turned turned;
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
        Cell* at = histogram + c * kStride;
        if (c + 8 <= width) {
          add_eight(words, turned.cells, chunk, at);
        } else {
          add_few(words, turned.cells, chunk, width - c, at);
        }
      }
    }
  }
}

}  // namespace podium
