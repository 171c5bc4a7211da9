// Rows as bins, stored twice: row by row in blocks of features for histograms, and column by column for everything
// else.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "parallel.hpp"
#include "trees/bins.hpp"

namespace podium {

inline constexpr std::size_t kCacheLine = 64;

// Bytes that begin on a cache line.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class Other>
  LineAllocator(const LineAllocator<Other>&) {}
  T* allocate(std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    void* p = ::operator new(bytes, std::align_val_t{alignment(bytes)});
    if (bytes >= kHuge) madvise(p, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(p);
  }
  void deallocate(T* p, std::size_t n) {
    ::operator delete(p, n * sizeof(T), std::align_val_t{alignment(n * sizeof(T))});
  }
  template <class Other>
  bool operator==(const LineAllocator<Other>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kHuge = 2u << 20;
  static constexpr std::size_t alignment(std::size_t bytes) { return bytes >= kHuge ? kHuge : kCacheLine; }
};
using Bytes = std::vector<std::uint8_t, LineAllocator<std::uint8_t>>;

// Bytes of a row of `count` codes: a row that nearly fills a cache line gets one of its own.
inline std::size_t row_stride(std::size_t count) {
  const std::size_t eights = (count + 7) / 8 * 8;
  return eights % kCacheLine >= 40 ? (eights + kCacheLine - 1) / kCacheLine * kCacheLine : eights;
}

// Columns of bins, one for each feature that is used; each is padded to whole tiles.
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
  Bytes bins_;
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
  for (std::size_t b = 0; b < bins; ++b) out[b] = 0;
  out[255] = 0;
  for (std::size_t at = 0, end = code.cells(); at < end;) {
    for (std::size_t b = 0; b <= bins; ++b, at += stride) {
      Number sum = 0;
      for (std::size_t k = at; k < at + stride; ++k) sum += joint[k];
      out[b < bins ? b : 255] += sum;
    }
  }
}

// Rows of neighboring codes.
struct RowBlock {
  std::size_t first, count, stride;  // codes, and bytes per row
  Bytes bins;
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

// Columns of the features in `used`.
BinColumns bin_columns(const FeatureTable& table, const Binner& binner, const std::vector<std::uint32_t>& used,
                       int num_threads);

// Returns the training documents as bins.
Binned bin_rows(const FeatureTable& table, const std::vector<FeatureBins>& features, bool share_bytes, int num_threads);

}  // namespace podium
