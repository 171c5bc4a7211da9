// Rows as bins, stored twice: row by row in blocks of features for histograms, and column by column for everything
// else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "parallel.hpp"
#include "trees/bins.hpp"
#include "trees/byte_store.hpp"

namespace podium {

// Bytes of a row of `count` codes: a row that nearly fills a cache line gets one of its own.
inline std::size_t row_stride(std::size_t count) {
  const std::size_t eights = (count + 7) / 8 * 8;
  return eights % kCacheLine >= 40 ? (eights + kCacheLine - 1) / kCacheLine * kCacheLine : eights;
}

// Columns of bins, one for each feature that is used; each is padded to whole tiles.
class BinColumns {
 public:
  BinColumns() = default;
  // With a folder, the columns are kept in a file there.
  BinColumns(std::size_t rows, std::size_t columns, const std::string& folder)
      : rows_(rows),
        stride_((rows + Binner::kTile - 1) / Binner::kTile * Binner::kTile),
        bins_(stride_ * columns, folder) {}
  std::size_t rows() const { return rows_; }
  std::size_t tiles() const { return stride_ / Binner::kTile; }
  const std::uint8_t* column(std::size_t j) const { return bins_.data() + j * stride_; }
  std::uint8_t* column(std::size_t j) { return bins_.data() + j * stride_; }

 private:
  std::size_t rows_ = 0, stride_ = 0;
  ByteStore bins_;
};

// One byte of a row: the bin of one column; or of several columns with few bins, code = Σ bin · stride, so
// that one addition adds to the histograms of all of them. There a missing value counts as one bin more.
struct Code {
  struct Part {
    std::uint32_t column, bins, stride;
  };
  std::vector<Part> parts;

  bool shared() const { return parts.size() > 1; }
  std::size_t cells() const { return shared() ? parts.back().stride * (parts.back().bins + 1) : parts[0].bins; }
};

// Columns with few bins share a byte as long as their codes fit; if not `share_bytes`, each has its own.
std::vector<Code> make_codes(const std::vector<std::uint16_t>& bins, bool share_bytes);

// Adds up the histogram of a shared code by the bins of one of its columns; missing goes to cell 255.
template <class Number>
void marginal(const Code& code, std::size_t part, const Number* joint, Number* out) {
  const auto [column, bins, stride] = code.parts[part];
  for (std::size_t b = 0; b < bins; ++b) out[b] = Number{};
  out[255] = Number{};
  for (std::size_t at = 0, end = code.cells(); at < end;) {
    for (std::size_t b = 0; b <= bins; ++b, at += stride) {
      Number sum{};
      for (std::size_t k = at; k < at + stride; ++k) sum += joint[k];
      out[b < bins ? b : 255] += sum;
    }
  }
}

// Rows of neighboring codes.
struct RowBlock {
  std::size_t first, count, stride;  // codes, and bytes per row
  ByteStore bins;
};

// The training documents.
struct Binned {
  std::vector<std::uint32_t> used;    // feature of each column: those with at least two bins
  std::vector<std::uint16_t> bins;    // number of bins of each column, without the one for missing values
  std::vector<std::uint8_t> missing;  // whether any value of the column is missing
  std::vector<std::uint8_t> categorical;
  BinColumns columns;
  std::vector<Code> codes;
  std::vector<RowBlock> blocks;
  std::size_t rows = 0;
};

// Writes the features in `used` of the table as rows of the columns, from row `first` on.
void bin_columns(const FeatureTable& table, const Binner& binner, const std::vector<std::uint32_t>& used,
                 std::size_t first, BinColumns& columns, int num_threads);

// Room for as many training documents; with a folder, in files there.
Binned make_binned(std::size_t rows, const std::vector<FeatureBins>& features, bool share_bytes,
                   const std::string& folder);

// Writes the table as rows of the training documents, from row `first` on.
void bin_rows(const FeatureTable& table, const Binner& binner, std::size_t first, Binned& out, int num_threads);

}  // namespace podium
