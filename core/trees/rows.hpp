// The rows of a tree's leaves: each leaf holds a run of them, and splitting a leaf splits its run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace podium {

// A run of rows in one of the two buffers.
struct RowRun {
  std::size_t begin = 0, end = 0;
  std::uint8_t place = 0;

  std::size_t rows() const { return end - begin; }
};

// The result of splitting a run.
struct Parted {
  std::size_t left = 0, missing = 0;
  std::uint8_t place = 0;  // the buffer of both halves
};

// Adds the numbers of rows by the bins of a column to `counts`, which has 256 of them. `document` is the row of `bins`
// of each row; null: the same number.
void count_bins(const std::uint32_t* rows, std::size_t count, const std::uint8_t* bins, const std::uint32_t* document,
                std::int64_t* counts);

// All rows in the order of the leaves. Kept from tree to tree for its memory.
class RowOrder {
 public:
  // One run of all rows, in their order.
  void start(std::size_t rows);
  const std::uint32_t* rows(const RowRun& run) const { return places_[run.place].data() + run.begin; }
  // Splits a run by the bins of a column: those in `left` (256 flags) first; rows keep their order on each side.
  // `document` is the row of `bins` of each row; null: the same number.
  Parted part(const RowRun& run, const std::uint8_t* bins, const std::uint32_t* document, const std::uint8_t* left,
              int num_threads);

 private:
  std::vector<std::uint32_t> places_[2], spare_;
};

}  // namespace podium
