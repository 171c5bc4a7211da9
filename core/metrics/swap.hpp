// ΔZ_pq: the change of a metric when the documents at two positions swap places and all others stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "metrics/metric.hpp"
#include "metrics/swap_cascade.hpp"
#include "metrics/swap_classes.hpp"
#include "metrics/swap_pairs.hpp"

namespace podium {

// After prepare(), O(n) for most metrics, each delta costs O(1), and a row of them is a loop without branches. Metrics
// over pairs of documents with very many levels of labels cost O(log n) per delta of a row. Metrics of the list family
// are computed again for each delta, O(n). ΔZ is symmetric; tied documents are in the order given.
class SwapDeltas {
 public:
  // Both must outlive the deltas. The query must be ranked to its full depth, or at least to depth_of() if only the
  // first positions count.
  void prepare(const Metric& metric, const RankedQuery& query);

  // The number of positions of n documents that must be in order.
  static std::size_t depth_of(const Metric& metric, std::size_t n);

  std::size_t size() const { return size_; }
  // Swapping two documents at or below this position has no effect.
  std::size_t depth() const { return depth_; }
  // ΔZ of position p with every position q, by q; those before `first` may be left as they are.
  void row(std::size_t p, std::span<double> out, std::size_t first = 0);
  // The positions below p, in order, outside of which ΔZ with p is 0, if they are so few that visiting them one by one
  // is faster than a row: nothing changes if the two have the same label, or are of the same class to the metric.
  std::optional<std::span<const std::uint32_t>> few_partners(std::size_t p) const;
  // ΔZ of one pair; for metrics over pairs a whole row is cheaper.
  double pair(std::size_t p, std::size_t q);
  // The approximate number of steps of pair().
  std::size_t pair_cost() const { return kind_ == Kind::pairs || kind_ == Kind::list ? size_ : 1; }

 private:
  enum class Kind { constant, additive, classes, cascade, pairs, list };

  Kind prepare_additive();
  Kind prepare_classes(ClassSwaps::Prepare prepare);
  Kind prepare_cascade();
  Kind prepare_pairs();
  Kind prepare_list();
  // Keeps uncommon_, the positions whose label is not the most common one, if they are few and rows are many.
  void find_uncommon();
  double additive(std::size_t p, std::size_t q) const { return (gains_[p] - gains_[q]) * (weights_[q] - weights_[p]); }
  double list(std::size_t upper, std::size_t lower);
  double list_value() const;

  const Metric* metric_ = nullptr;
  const RankedQuery* query_ = nullptr;
  Kind kind_ = Kind::constant;  // constant: no swap changes the metric, because the query is empty for it
  std::size_t size_ = 0, depth_ = 0;
  MetricScratch scratch_;
  std::vector<double> gains_, weights_, scores_, row_;  // by position; the meaning depends on the kind
  double value_ = 0, common_ = 0;
  bool has_common_ = false;
  std::vector<std::uint32_t> uncommon_;
  ClassSwaps classes_;
  CascadeSwaps cascade_;
  PairSwaps pairs_;
};

}  // namespace podium
