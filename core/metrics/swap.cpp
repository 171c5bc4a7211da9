#include "metrics/swap.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "dispatch.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

constexpr std::size_t kManyRows = 64;

PODIUM_INLINE void additive_row(const double* gains, const double* weights, std::size_t p, std::size_t begin,
                                std::size_t end, double* out) {
  const double gain = gains[p], weight = weights[p];
  for (std::size_t q = begin; q < end; ++q) out[q] = (gain - gains[q]) * (weights[q] - weight);
}

void additive_row_portable(const double* gains, const double* weights, std::size_t p, std::size_t begin,
                           std::size_t end, double* out) {
  additive_row(gains, weights, p, begin, end, out);
}
PODIUM_AVX2 void additive_row_avx2(const double* gains, const double* weights, std::size_t p, std::size_t begin,
                                   std::size_t end, double* out) {
  additive_row(gains, weights, p, begin, end, out);
}

}  // namespace

void SwapDeltas::prepare(const Metric& metric, const RankedQuery& query) {
  metric_ = &metric, query_ = &query;
  size_ = query.size();
  depth_ = std::min(size_, metric.spec().cutoff);
  const auto prepare_family = [&] {
    switch (metric.spec().kernel->family) {
      case MetricFamily::additive:
        return prepare_additive();
      case MetricFamily::average_precision:
        return prepare_classes(&ClassSwaps::prepare_map);
      case MetricFamily::reciprocal_rank:
        return prepare_classes(&ClassSwaps::prepare_mrr);
      case MetricFamily::binary_preference:
        return prepare_classes(&ClassSwaps::prepare_bpref);
      case MetricFamily::cascade:
        return prepare_cascade();
      case MetricFamily::pairs:
        return prepare_pairs();
      case MetricFamily::list:
        return prepare_list();
    }
    unreachable();
  };
  kind_ = prepare_family();
  has_common_ = false;
  if (kind_ == Kind::additive || kind_ == Kind::cascade) find_uncommon();
}

void SwapDeltas::find_uncommon() {
  const LabelSummary& summary = query_->summary();
  if (!summary.integral || depth_ < kManyRows) return;
  const auto most = std::max_element(summary.counts.begin(), summary.counts.end());
  if (*most * 2 < size_) return;
  common_ = static_cast<double>(most - summary.counts.begin()), has_common_ = true;
  uncommon_.clear();
  for (std::uint32_t p = 0; p < size_; ++p) {
    if (query_->labels()[p] != common_) uncommon_.push_back(p);
  }
}

std::size_t SwapDeltas::depth_of(const Metric& metric, std::size_t n) {
  return is_additive(metric.spec()) ? metric.depth(n) : n;
}

// Keeps gains_ and weights_ / norm by position, 0 below the depth.
SwapDeltas::Kind SwapDeltas::prepare_additive() {
  const AdditiveForm form = metric_->additive(*query_, scratch_);
  depth_ = form.weights.size();
  if (form.empty) return Kind::constant;
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
  return Kind::additive;
}

SwapDeltas::Kind SwapDeltas::prepare_classes(ClassSwaps::Prepare prepare) {
  if (metric_->count_relevant(*query_) == 0) return Kind::constant;
  (classes_.*prepare)(*metric_, *query_, depth_);
  depth_ = classes_.depth();
  return Kind::classes;
}

SwapDeltas::Kind SwapDeltas::prepare_cascade() {
  if (query_->summary().greatest <= 0) return Kind::constant;
  cascade_.prepare(*metric_, *query_, depth_);
  depth_ = cascade_.depth();
  return Kind::cascade;
}

SwapDeltas::Kind SwapDeltas::prepare_pairs() {
  depth_ = size_;
  const PairCounts counts = count_pairs(*metric_, *query_);
  if (counts.comparable == 0) return Kind::constant;
  const PairsKernel& kernel = *metric_->spec().kernel->pairs;
  std::vector<std::uint32_t> levels;
  const std::size_t distinct = label_levels(*metric_, *query_, levels);
  const bool tied = counts.untied < counts.all;
  if (kernel.binary && !tied) {
    classes_.prepare_auc(levels, kernel.slope(counts));
    return Kind::classes;
  }
  pairs_.prepare(*query_, std::move(levels), distinct, tied, kernel.slope(counts));
  return Kind::pairs;
}

// Keeps scores_ and gains_ = labels by position, and the value of that order. The function may use scores: tied ones
// are made different in their last bit, so that a swap of two tied documents changes their places here too.
SwapDeltas::Kind SwapDeltas::prepare_list() {
  depth_ = size_;
  query_->list(scores_, gains_);
  for (std::size_t p = 1; p < scores_.size(); ++p) {
    if (scores_[p] >= scores_[p - 1]) scores_[p] = std::nextafter(scores_[p - 1], -INFINITY);
  }
  value_ = list_value();
  return std::isnan(value_) ? Kind::constant : Kind::list;
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
  if (p == q) return 0.0;
  const std::size_t upper = std::min(p, q), lower = std::max(p, q);
  switch (kind_) {
    case Kind::constant:
      return 0.0;
    case Kind::additive:
      return additive(upper, lower);
    case Kind::classes:
      return classes_.pair(upper, lower);
    case Kind::cascade:
      return cascade_.pair(upper, lower);
    case Kind::list:
      return list(upper, lower);
    case Kind::pairs:
      row_.resize(size_);
      pairs_.row(p, row_, 0);
      return row_[q];
  }
  unreachable();
}

void SwapDeltas::row(std::size_t p, std::span<double> out, std::size_t first) {
  const auto one_by_one = [&](std::size_t from, std::size_t to) {
    for (std::size_t q = from; q < to; ++q) out[q] = pair(p, q);
  };
  switch (kind_) {
    case Kind::constant:
      return std::fill(out.begin(), out.end(), 0.0);
    case Kind::additive:
      return (has_avx2() ? additive_row_avx2 : additive_row_portable)(gains_.data(), weights_.data(), p, first, size_,
                                                                      out.data());
    case Kind::pairs:
      return pairs_.row(p, out, first);
    case Kind::classes:
      one_by_one(first, p + 1);
      return classes_.row(p, out);
    case Kind::cascade:
      one_by_one(first, p + 1);
      return cascade_.row(p, out);
    case Kind::list:
      return one_by_one(first, size_);
  }
  unreachable();
}

std::optional<std::span<const std::uint32_t>> SwapDeltas::few_partners(std::size_t p) const {
  if (kind_ == Kind::constant) return std::span<const std::uint32_t>{};
  if (kind_ == Kind::classes) return classes_.few_partners(p);
  return has_common_ && query_->labels()[p] == common_ ? few_past(p, size_, uncommon_) : std::nullopt;
}

}  // namespace podium
