#include "metrics/swap_cascade.hpp"

#include <algorithm>
#include <limits>

#include "dispatch.hpp"

namespace podium {
namespace {

struct CascadeRow {
  double reach, up, pass, rank, sum;
  const double *satisfaction, *passes, *reaches, *sums, *ranks;
};

// If R_p becomes R_q, the probability of reaching each position between them is multiplied by (1 − R_q) / (1 − R_p).
template <bool kCounts>  // whether position q is inside the cutoff
PODIUM_INLINE double swap_delta(const CascadeRow& row, std::size_t q) {
  const double down = row.satisfaction[q];
  const double ratio = row.passes[q] / row.pass;
  const double delta = row.reach * (down - row.up) / row.rank + (ratio - 1) * (row.sum - row.sums[q]);
  return kCounts ? delta + row.reaches[q] * (ratio * row.up - down) / row.ranks[q] : delta;
}

PODIUM_INLINE void cascade_row(const CascadeRow& row, std::size_t begin, std::size_t cutoff, std::size_t end,
                               double* out) {
  std::size_t q = begin;
  for (; q < cutoff; ++q) out[q] = swap_delta<true>(row, q);
  for (; q < end; ++q) out[q] = swap_delta<false>(row, q);
}

void row_portable(const CascadeRow& row, std::size_t begin, std::size_t cutoff, std::size_t end, double* out) {
  cascade_row(row, begin, cutoff, end, out);
}
PODIUM_AVX2 void row_avx2(const CascadeRow& row, std::size_t begin, std::size_t cutoff, std::size_t end, double* out) {
  cascade_row(row, begin, cutoff, end, out);
}

}  // namespace

// Sums run from the end: those below p then have the factor 1 − R_p, so that dividing by it loses no digits.
void CascadeSwaps::prepare(const Metric& metric, const RankedQuery& query, std::size_t cutoff) {
  size_ = query.size(), cutoff_ = depth_ = std::min(size_, cutoff);
  satisfaction_.resize(size_), pass_.resize(size_), ranks_.resize(size_);
  reach_.assign(size_ + 1, 1.0), sums_.assign(size_ + 1, 0.0);
  for (std::size_t p = 0; p < size_; ++p) {
    satisfaction_[p] = metric.satisfaction(query.labels()[p]);
    pass_[p] = 1 - satisfaction_[p], ranks_[p] = static_cast<double>(p + 1);
    reach_[p + 1] = reach_[p] * pass_[p];
  }
  for (std::size_t p = size_; p-- > 0;) {
    sums_[p] = sums_[p + 1] + (p < cutoff_ ? reach_[p] * satisfaction_[p] / ranks_[p] : 0.0);
  }
  while (depth_ > 0 && reach_[depth_ - 1] < std::numeric_limits<double>::min()) --depth_;
}

double CascadeSwaps::pair(std::size_t upper, std::size_t lower) const {
  double delta = 0;
  const CascadeRow row{reach_[upper],        satisfaction_[upper], pass_[upper],  ranks_[upper], sums_[upper + 1],
                       satisfaction_.data(), pass_.data(),         reach_.data(), sums_.data(),  ranks_.data()};
  if (upper < depth_) delta = lower < cutoff_ ? swap_delta<true>(row, lower) : swap_delta<false>(row, lower);
  return delta;
}

void CascadeSwaps::row(std::size_t p, std::span<double> out) const {
  if (p >= depth_) return std::fill(out.begin() + static_cast<std::ptrdiff_t>(p + 1), out.end(), 0.0);
  const CascadeRow row{reach_[p],    satisfaction_[p], pass_[p],     ranks_[p],    sums_[p + 1], satisfaction_.data(),
                       pass_.data(), reach_.data(),    sums_.data(), ranks_.data()};
  (has_avx2() ? row_avx2 : row_portable)(row, p + 1, std::max(p + 1, cutoff_), size_, out.data());
}

}  // namespace podium
