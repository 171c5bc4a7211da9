// Rows as bins, held twice: row after row in blocks of features for histograms, column after column for all else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "team.hpp"
#include "trees/bins.hpp"

namespace podium {

// Columns of bins, one for each feature that is used; each begins on a cache line and is padded to whole tiles.
class BinColumns {
 public:
  BinColumns() = default;
  BinColumns(std::size_t rows, std::size_t columns)
      : rows_(rows), stride_((rows + Binner::kTile - 1) / Binner::kTile * Binner::kTile), bins_(stride_ * columns) {}
  std::size_t rows() const { return rows_; }
  std::size_t tiles() const { return stride_ / Binner::kTile; }
  const std::uint8_t* column(std::size_t j) const { return bins_.data() + j * stride_; }
  std::uint8_t* column(std::size_t j) { return bins_.data() + j * stride_; }

 private:
  std::size_t rows_ = 0, stride_ = 0;
  std::vector<std::uint8_t> bins_;
};

// Rows of bins of some neighbouring columns.
struct RowBlock {
  std::size_t first, count, stride;  // columns, and bytes a row
  std::vector<std::uint8_t> bins;
};

// The training documents.
struct Binned {
  std::vector<std::uint32_t> used;    // feature of each column: those with at least two bins
  std::vector<std::uint16_t> bins;    // of each column, missing ones left out
  std::vector<std::uint8_t> missing;  // whether any value of the column is
  std::vector<std::uint8_t> categorical;
  BinColumns columns;
  std::vector<RowBlock> blocks;
  std::size_t rows = 0;
};

// Columns of the features in `used`.
BinColumns bin_columns(const FeatureTable& table, const Binner& binner, const std::vector<std::uint32_t>& used,
                       Team& team);

// Everything the training documents need; blocks are as many as keep `threads` busy.
Binned bin_rows(const FeatureTable& table, const std::vector<FeatureBins>& features, Team& team, std::size_t threads);

}  // namespace podium
