#include "trees/rows.hpp"

#include <algorithm>
#include <numeric>

#include "trees/bins.hpp"

namespace podium {
namespace {

constexpr std::size_t kPiece = 8192;  // rows that one thread splits at a time

// The left ones stay in `rows` without gaps; the others go to `spare`.
Parted part_piece(std::uint32_t* rows, std::uint32_t* spare, std::size_t count, const std::uint8_t* bins,
                  const std::uint32_t* document, const std::uint8_t* left) {
  std::size_t l = 0, r = 0, missing = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = rows[i];
    const std::uint8_t bin = bins[document ? document[row] : row];
    const std::uint8_t is_left = left[bin];
    rows[l] = row, spare[r] = row;
    l += is_left, r += 1u - is_left;
    missing += bin == kMissingBin;
  }
  return {l, missing};
}

}  // namespace

void count_bins(const std::uint32_t* rows, std::size_t count, const std::uint8_t* bins, const std::uint32_t* document,
                std::int64_t* counts) {
  // Rows that follow one another are often in one bin: with two counters they do not wait for each other.
  std::int64_t others[256];
  std::fill_n(others, 256, 0);
  const auto bin_of = [&](std::uint32_t row) { return bins[document ? document[row] : row]; };
  for (std::size_t i = 1; i < count; i += 2) {
    ++counts[bin_of(rows[i - 1])];
    ++others[bin_of(rows[i])];
  }
  if (count % 2 > 0) ++counts[bin_of(rows[count - 1])];
  for (std::size_t b = 0; b < 256; ++b) counts[b] += others[b];
}

void RowOrder::start(std::size_t rows) {
  for (auto* rows_of_place : {&places_[0], &places_[1], &spare_}) rows_of_place->resize(rows);
  std::iota(places_[0].begin(), places_[0].end(), 0u);
}

Parted RowOrder::part(const RowRun& run, const std::uint8_t* bins, const std::uint32_t* document,
                      const std::uint8_t* left, int num_threads) {
  std::uint32_t* from = places_[run.place].data() + run.begin;
  std::uint32_t* spare = spare_.data() + run.begin;
  const std::size_t pieces = (run.rows() + kPiece - 1) / kPiece;
  const auto size = [&](std::size_t k) { return std::min(run.rows() - k * kPiece, kPiece); };
  if (pieces <= 1) {
    Parted parted = part_piece(from, spare, run.rows(), bins, document, left);
    std::copy_n(spare, run.rows() - parted.left, from + parted.left);
    parted.place = run.place;
    return parted;
  }
  std::vector<Parted> parted(pieces);
  parallel_for(pieces, pieces > 2 ? num_threads : 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      parted[k] = part_piece(from + k * kPiece, spare + k * kPiece, size(k), bins, document, left);
    }
  });
  Parted whole{0, 0, static_cast<std::uint8_t>(1 - run.place)};
  std::vector<std::size_t> lefts_before(pieces);
  for (std::size_t k = 0; k < pieces; ++k) {
    lefts_before[k] = whole.left;
    whole.left += parted[k].left, whole.missing += parted[k].missing;
  }
  std::uint32_t* to = places_[whole.place].data() + run.begin;
  parallel_for(pieces, pieces > 2 ? num_threads : 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t rights_before = k * kPiece - lefts_before[k];
      std::copy_n(from + k * kPiece, parted[k].left, to + lefts_before[k]);
      std::copy_n(spare + k * kPiece, size(k) - parted[k].left, to + whole.left + rights_before);
    }
  });
  return whole;
}

}  // namespace podium
