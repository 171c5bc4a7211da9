#include "metrics/swap_pairs.hpp"

#include <algorithm>
#include <utility>

#include "dispatch.hpp"

namespace podium {
namespace {

constexpr std::size_t kMostLevels = 64, kLargestTable = std::size_t{1} << 24;  // 64 MB

struct TableRow {
  double slope;
  std::int32_t upper;  // F(own level) over the documents above the row's position
  const std::int32_t *above, *own, *start;
  const std::uint32_t* levels;
};

PODIUM_INLINE void table_row(const TableRow& row, std::size_t begin, std::size_t end, double* out) {
  for (std::size_t q = begin; q < end; ++q) {
    const std::int32_t gain = (row.above[q] - row.upper) - (row.own[q] - row.start[row.levels[q]]);
    out[q] = row.slope * static_cast<double>(-2 * gain);
  }
}

void row_portable(const TableRow& row, std::size_t begin, std::size_t end, double* out) {
  table_row(row, begin, end, out);
}
PODIUM_AVX2 void row_avx2(const TableRow& row, std::size_t begin, std::size_t end, double* out) {
  table_row(row, begin, end, out);
}

}  // namespace

void PairSwaps::prepare(const RankedQuery& query, std::vector<std::uint32_t> levels, std::size_t distinct, bool tied,
                        double slope) {
  size_ = levels.size(), distinct_ = distinct, slope_ = slope;
  group_ends_ = query.group_ends();
  levels_ = std::move(levels);
  tabulated_ = !tied && distinct_ <= kMostLevels && distinct_ * (size_ + 1) <= kLargestTable;
  if (tabulated_) tabulate();
}

void PairSwaps::tabulate() {
  above_.resize(distinct_ * (size_ + 1)), own_.resize(size_), start_.resize(distinct_);
  for (std::uint32_t level = 0; level < distinct_; ++level) {
    std::int32_t* const sums = above_.data() + level * (size_ + 1);
    sums[0] = 0;
    for (std::size_t p = 0; p < size_; ++p) sums[p + 1] = sums[p] + (levels_[p] < level) + (levels_[p] <= level);
  }
  for (std::size_t p = 0; p < size_; ++p) own_[p] = at(levels_[p], p);
}

void PairSwaps::row(std::size_t p, std::span<double> out, std::size_t first) {
  if (!tabulated_) return row_by_tree(p, out);
  for (std::size_t level = 0; level < distinct_; ++level) start_[level] = at(level, p);
  const TableRow row{slope_,      own_[p],       above_.data() + levels_[p] * (size_ + 1),
                     own_.data(), start_.data(), levels_.data()};
  (has_avx2() ? row_avx2 : row_portable)(row, first, size_, out.data());
}

// The document j itself, counted once in its own tie group, turns the 2 of ΔK into 1.
void PairSwaps::row_by_tree(std::size_t p, std::span<double> out) {
  const auto ends = group_ends_;
  const std::uint32_t own = levels_[p];
  std::size_t begin = p;
  while (begin > 0 && ends[begin - 1] == ends[p]) --begin;
  const auto weigh = [&](std::size_t from, std::size_t to) {
    for (std::size_t q = from; q < to; ++q) {
      if (q != p) between_.add(levels_[q], 1);
    }
  };
  const auto cumulated = [&](std::uint32_t level) { return between_.below(level) + between_.below(level + 1); };
  const auto fill = [&](std::size_t from, std::size_t to, double sign) {
    weigh(from, to);
    const std::int64_t mine = cumulated(own);
    for (std::size_t q = from; q < to; ++q) {
      const int order = (own > levels_[q]) - (own < levels_[q]);
      out[q] = sign * slope_ * static_cast<double>(-order - (mine - cumulated(levels_[q])));
    }
    weigh(from, to);
  };
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin), out.begin() + ends[p], 0.0);
  between_.reset(distinct_);
  weigh(begin, ends[p]);
  for (std::size_t from = ends[p]; from < size_; from = ends[from]) fill(from, ends[from], 1.0);
  between_.reset(distinct_);
  weigh(begin, ends[p]);
  for (std::size_t to = begin; to > 0;) {
    std::size_t from = to - 1;
    while (from > 0 && ends[from - 1] == ends[from]) --from;
    fill(from, to, -1.0);
    to = from;
  }
}

}  // namespace podium
