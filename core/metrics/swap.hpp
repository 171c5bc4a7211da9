// ΔZ_pq: what a metric gains when the documents at two positions change places, all else fixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/metric.hpp"
#include "metrics/pairs.hpp"

namespace podium {

// After prepare(), O(n) for most metrics, each delta costs O(1). Metrics over pairs of documents exchange the
// two scores and cost O(log n) per delta of a row. Metrics of the list family are computed anew for each delta, O(n).
// ΔZ is symmetric; tied documents stand in the order given.
class SwapDeltas {
 public:
  // Both must outlive the deltas. The query must be ranked to its full depth; where only the first positions count, as
  // depth_of() tells, it is enough that those are.
  void prepare(const Metric& metric, const RankedQuery& query);

  // How many positions of n documents must be in order.
  static std::size_t depth_of(const Metric& metric, std::size_t n);

  std::size_t size() const { return size_; }
  // Two documents that both stand at or past this position swap without effect.
  std::size_t depth() const { return depth_; }
  // ΔZ of position p with every position q, by q; those before `first` may be left as they are.
  void row(std::size_t p, std::span<double> out, std::size_t first = 0);
  // ΔZ of one pair; for metrics over pairs a whole row is cheaper.
  double pair(std::size_t p, std::size_t q);
  // About how many steps pair() takes.
  std::size_t pair_cost() const { return family_ == MetricFamily::pairs || family_ == MetricFamily::list ? size_ : 1; }

 private:
  // Sets relevant_, scale_ and constant_; false where no document is relevant.
  bool count_relevant();
  void prepare_additive();
  void prepare_map();
  void prepare_mrr();
  void prepare_err();
  void prepare_bpref();
  void prepare_pairs();
  void prepare_list();
  double additive(std::size_t p, std::size_t q) const { return (gains_[p] - gains_[q]) * (weights_[q] - weights_[p]); }
  double map(std::size_t upper, std::size_t lower) const;
  double mrr(std::size_t upper, std::size_t lower) const;
  double err(std::size_t upper, std::size_t lower) const;
  double bpref(std::size_t upper, std::size_t lower) const;
  void pairs_row(std::size_t p, std::span<double> out);
  double list(std::size_t upper, std::size_t lower);
  double list_value() const;

  const Metric* metric_ = nullptr;
  MetricScratch scratch_;
  const RankedQuery* query_ = nullptr;
  MetricFamily family_ = MetricFamily::additive;
  bool constant_ = true;  // no swap changes the metric, because the query is empty for it
  std::size_t size_ = 0, depth_ = 0;
  double scale_ = 1, value_ = 0;
  std::vector<double> gains_, weights_, sums_, reach_, scores_;  // by position; each family says what it keeps
  std::vector<std::uint32_t> counts_, limited_, limited_next_, levels_;
  std::vector<double> row_;
  std::size_t first_ = 0, second_ = 0, relevant_ = 0, nonrelevant_ = 0;
  PairCounts pairs_;
  Fenwick between_;
  std::size_t distinct_ = 0;
};

}  // namespace podium
