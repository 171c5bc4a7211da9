// Swap deltas of ERR.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "metrics/metric.hpp"

namespace podium {

class CascadeSwaps {
 public:
  // The query has a label above 0.
  void prepare(const Metric& metric, const RankedQuery& query, std::size_t cutoff);

  // Swapping two documents at or below this position has no effect: it is the cutoff, or the reader reaches it with a
  // probability below the smallest normal double.
  std::size_t depth() const { return depth_; }
  double pair(std::size_t upper, std::size_t lower) const;
  // ΔZ of position p with the positions below p, by position.
  void row(std::size_t p, std::span<double> out) const;

 private:
  std::size_t size_ = 0, depth_ = 0, cutoff_ = 0;
  std::vector<double> satisfaction_, pass_;  // R and 1 − R
  std::vector<double> reach_;                // Π (1 − R) above
  std::vector<double> sums_;                 // the sum of ERR over the positions from here on
  std::vector<double> ranks_;                // position + 1
};

}  // namespace podium
