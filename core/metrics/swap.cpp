#include "metrics/swap.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dispatch.hpp"
#include "interrupt.hpp"
#include "metrics/precision.hpp"

namespace podium {
namespace {

PODIUM_INLINE void additive_row(const double* gains, const double* weights, std::size_t n, std::size_t p, double* out) {
  const double gain = gains[p], weight = weights[p];
  for (std::size_t q = 0; q < n; ++q) out[q] = (gain - gains[q]) * (weights[q] - weight);
}

void additive_row_portable(const double* gains, const double* weights, std::size_t n, std::size_t p, double* out) {
  additive_row(gains, weights, n, p, out);
}
PODIUM_AVX2 void additive_row_avx2(const double* gains, const double* weights, std::size_t n, std::size_t p,
                                   double* out) {
  additive_row(gains, weights, n, p, out);
}

}  // namespace

void SwapDeltas::prepare(const Metric& metric, const RankedQuery& query) {
  metric_ = &metric, query_ = &query;
  size_ = query.size();
  depth_ = std::min(size_, metric.spec().cutoff);
  family_ = metric.spec().kernel->family;
  switch (family_) {
    case MetricFamily::additive:
      return prepare_additive();
    case MetricFamily::pairs:
      return prepare_pairs();
    case MetricFamily::cascade:
      return prepare_err();
    case MetricFamily::average_precision:
      return prepare_map();
    case MetricFamily::reciprocal_rank:
      return prepare_mrr();
    case MetricFamily::binary_preference:
      return prepare_bpref();
    case MetricFamily::list:
      return prepare_list();
  }
  unreachable();
}

bool SwapDeltas::count_relevant() {
  relevant_ = metric_->count_relevant(*query_);
  constant_ = relevant_ == 0;
  scale_ = constant_ ? 0.0 : 1 / static_cast<double>(relevant_);
  return !constant_;
}

std::size_t SwapDeltas::depth_of(const Metric& metric, std::size_t n) {
  return is_additive(metric.spec()) ? metric.depth(n) : n;
}

// Keeps gains_ and weights_ / norm by position, 0 past the depth.
void SwapDeltas::prepare_additive() {
  const AdditiveForm form = metric_->additive(*query_, scratch_);
  depth_ = form.weights.size();
  constant_ = form.empty;
  if (constant_) return;
  gains_.resize(size_), weights_.assign(size_, 0.0);
  const LabelSummary& summary = query_->summary();
  const double* labels = query_->labels().data();
  if (summary.integral) {
    std::array<double, LabelSummary::small> levels{};
    for (auto level = static_cast<std::size_t>(summary.least); level <= static_cast<std::size_t>(summary.greatest);
         ++level) {
      levels[level] = metric_->gain_in(*query_, static_cast<double>(level));
    }
    for (std::size_t p = 0; p < size_; ++p) gains_[p] = levels[static_cast<std::size_t>(labels[p])];
  } else {
    for (std::size_t p = 0; p < size_; ++p) gains_[p] = metric_->gain_in(*query_, labels[p]);
  }
  for (std::size_t p = 0; p < depth_; ++p) weights_[p] = form.weights[p] / form.norm;
}

// Keeps gains_ = relevant or not, counts_ = relevant documents above, sums_ = Σ of 1/rank over those inside the cutoff.
void SwapDeltas::prepare_map() {
  if (!count_relevant()) return;
  gains_.resize(size_), counts_.assign(size_ + 1, 0), sums_.assign(size_ + 1, 0.0);
  for (std::size_t p = 0; p < size_; ++p) {
    gains_[p] = metric_->relevant(query_->labels()[p]);
    counts_[p + 1] = counts_[p] + (gains_[p] > 0);
    sums_[p + 1] = sums_[p] + (gains_[p] > 0 && p < depth_ ? 1 / static_cast<double>(p + 1) : 0.0);
  }
}

double SwapDeltas::map(std::size_t upper, std::size_t lower) const {
  if (gains_[upper] == gains_[lower]) return 0.0;
  const auto precision = [&](std::size_t hits, std::size_t p) {
    return p < depth_ ? static_cast<double>(hits) / static_cast<double>(p + 1) : 0.0;
  };
  const double between = sums_[lower] - sums_[upper + 1];
  if (gains_[upper] > 0) {
    return scale_ * (precision(counts_[lower], lower) - precision(counts_[upper] + 1, upper) - between);
  }
  return scale_ * (precision(counts_[upper] + 1, upper) - precision(counts_[lower] + 1, lower) + between);
}

// Keeps gains_ = relevant or not and where the first two relevant documents stand.
void SwapDeltas::prepare_mrr() {
  if (!count_relevant()) return;
  gains_.resize(size_);
  first_ = second_ = size_;
  for (std::size_t p = size_; p-- > 0;) {
    gains_[p] = metric_->relevant(query_->labels()[p]);
    if (gains_[p] > 0) second_ = first_, first_ = p;
  }
}

double SwapDeltas::mrr(std::size_t upper, std::size_t lower) const {
  if (gains_[upper] == gains_[lower]) return 0.0;
  std::size_t first = first_;
  if (gains_[lower] > 0) first = std::min(first_, upper);
  if (gains_[upper] > 0 && upper == first_) first = std::min(second_, lower);
  const auto reciprocal = [&](std::size_t p) { return p < depth_ ? 1 / static_cast<double>(p + 1) : 0.0; };
  return reciprocal(first) - reciprocal(first_);
}

// Keeps gains_ = satisfaction R, reach_ = Π (1 − R) above, and sums_ = what positions from p on add to ERR. Sums run
// from the end: those past p then carry the factor 1 − R_p, so that dividing by it loses no digits.
void SwapDeltas::prepare_err() {
  constant_ = query_->summary().greatest <= 0;
  if (constant_) return;
  gains_.resize(size_), reach_.assign(size_ + 1, 1.0), sums_.assign(size_ + 1, 0.0);
  for (std::size_t p = 0; p < size_; ++p) {
    gains_[p] = metric_->satisfaction(query_->labels()[p]);
    reach_[p + 1] = reach_[p] * (1 - gains_[p]);
  }
  for (std::size_t p = size_; p-- > 0;) {
    sums_[p] = sums_[p + 1] + (p < depth_ ? reach_[p] * gains_[p] / static_cast<double>(p + 1) : 0.0);
  }
}

double SwapDeltas::err(std::size_t upper, std::size_t lower) const {
  const double up = gains_[upper], down = gains_[lower];
  if (up == down || upper >= depth_) return 0.0;
  const double ratio = (1 - down) / (1 - up);
  double delta = reach_[upper] * (down - up) / static_cast<double>(upper + 1);
  delta += (ratio - 1) * (sums_[upper + 1] - sums_[lower]);
  if (lower < depth_) delta += reach_[lower] * (ratio * up - down) / static_cast<double>(lower + 1);
  return delta;
}

// Keeps levels_ = judgment, counts_ = judged nonrelevant documents above, and of the relevant documents above how many
// would lose by one more of these (limited_) and gain by one less (limited_next_).
void SwapDeltas::prepare_bpref() {
  depth_ = size_;
  if (!count_relevant()) return;
  nonrelevant_ = count_nonrelevant(*metric_, *query_);
  levels_.resize(size_), counts_.assign(size_ + 1, 0);
  limited_.assign(size_ + 1, 0), limited_next_.assign(size_ + 1, 0);
  for (std::size_t p = 0; p < size_; ++p) {
    const Judgment kind = judgment(*metric_, *query_, p);
    levels_[p] = static_cast<std::uint32_t>(kind);
    counts_[p + 1] = counts_[p] + (kind == Judgment::nonrelevant);
    limited_[p + 1] = limited_[p] + (kind == Judgment::relevant && counts_[p] < relevant_);
    limited_next_[p + 1] = limited_next_[p] + (kind == Judgment::relevant && counts_[p] <= relevant_);
  }
}

double SwapDeltas::bpref(std::size_t upper, std::size_t lower) const {
  const auto up = static_cast<Judgment>(levels_[upper]), down = static_cast<Judgment>(levels_[lower]);
  if (up == down) return 0.0;
  const int more = (down == Judgment::nonrelevant) - (up == Judgment::nonrelevant);
  const auto credit = [&](std::size_t above) { return preference(above, relevant_, nonrelevant_); };
  double delta = 0;
  if (up == Judgment::relevant)
    delta += credit(counts_[lower] + static_cast<std::size_t>(more)) - credit(counts_[upper]);
  if (down == Judgment::relevant) delta += credit(counts_[upper]) - credit(counts_[lower]);
  const double step = 1 / static_cast<double>(std::max<std::size_t>(1, std::min(relevant_, nonrelevant_)));
  if (more > 0) delta -= step * (limited_[lower] - limited_[upper + 1]);
  if (more < 0) delta += step * (limited_next_[lower] - limited_next_[upper + 1]);
  return scale_ * delta;
}

// Keeps levels_ = dense labels, and what one step of K = Σ sgn·sgn is worth.
void SwapDeltas::prepare_pairs() {
  depth_ = size_;
  pairs_ = count_pairs(*metric_, *query_);
  constant_ = pairs_.comparable == 0;
  if (constant_) return;
  distinct_ = label_levels(*metric_, *query_, levels_);
  scale_ = metric_->spec().kernel->pairs->slope(pairs_);
}

// Let i stand above j with labels a, b. A third document k counts w_k = 2 between them, 1 beside one of them in a tie,
// and ΔK = −2 sgn(a − b) − Σ_k w_k (sgn(a − l_k) − sgn(b − l_k)). With F(x) = Σ w (l < x) + Σ w (l ≤ x) the sum is
// F(a) − F(b); j itself, counted once in its own tie group, turns the 2 into 1.
void SwapDeltas::pairs_row(std::size_t p, std::span<double> out) {
  const auto ends = query_->group_ends();
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
      out[q] = sign * scale_ * static_cast<double>(-order - (mine - cumulated(levels_[q])));
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

// Keeps scores_ and gains_ = labels by position, and the value as they stand. The function may see scores: tied ones
// are told apart by their last bit, so that a swap of two tied documents is a change of places here too.
void SwapDeltas::prepare_list() {
  depth_ = size_;
  query_->list(scores_, gains_);
  for (std::size_t p = 1; p < scores_.size(); ++p) {
    if (scores_[p] >= scores_[p - 1]) scores_[p] = std::nextafter(scores_[p - 1], -INFINITY);
  }
  value_ = list_value();
  constant_ = std::isnan(value_);
}

double SwapDeltas::list_value() const {
  const MetricSpec& spec = metric_->spec();
  return spec.kernel->list(spec, gains_.size(), scores_.data(), gains_.data());
}

double SwapDeltas::list(std::size_t upper, std::size_t lower) {
  if (gains_[upper] == gains_[lower]) return 0.0;
  check_interrupt();  // the whole list is computed again
  std::swap(gains_[upper], gains_[lower]);
  const double after = list_value();
  std::swap(gains_[upper], gains_[lower]);
  return std::isnan(after) ? 0.0 : after - value_;
}

double SwapDeltas::pair(std::size_t p, std::size_t q) {
  if (constant_ || p == q) return 0.0;
  const std::size_t upper = std::min(p, q), lower = std::max(p, q);
  switch (family_) {
    case MetricFamily::additive:
      return additive(upper, lower);
    case MetricFamily::average_precision:
      return map(upper, lower);
    case MetricFamily::reciprocal_rank:
      return mrr(upper, lower);
    case MetricFamily::cascade:
      return err(upper, lower);
    case MetricFamily::binary_preference:
      return bpref(upper, lower);
    case MetricFamily::list:
      return list(upper, lower);
    case MetricFamily::pairs:
      row_.resize(size_);
      pairs_row(p, row_);
      return row_[q];
  }
  unreachable();
}

void SwapDeltas::row(std::size_t p, std::span<double> out, std::size_t first) {
  if (constant_) return std::fill(out.begin(), out.end(), 0.0);
  if (family_ == MetricFamily::pairs) return pairs_row(p, out);
  if (family_ == MetricFamily::additive) {
    return (has_avx2() ? additive_row_avx2 : additive_row_portable)(gains_.data(), weights_.data(), size_, p,
                                                                    out.data());
  }
  for (std::size_t q = first; q < size_; ++q) out[q] = pair(p, q);
}

}  // namespace podium
