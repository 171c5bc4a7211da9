// Metrics that count pairs of documents: AUC, pairwise error and correct, Kendall's tau.
//
// All are functions of one whole number, K = Σ_{i<j} sgn(l_i − l_j) sgn(s_i − s_j).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "metrics/metric.hpp"

namespace podium {

struct PairCounts {
  std::int64_t agreement = 0;   // K
  std::int64_t comparable = 0;  // pairs of different labels
  std::int64_t all = 0;         // n (n − 1) / 2
  std::int64_t untied = 0;      // pairs of different scores
};

// Counts of whole numbers under changing keys: add, and sum over a range of keys, both in O(log n).
class Fenwick {
 public:
  void reset(std::size_t keys) { sums_.assign(keys + 1, 0); }
  void add(std::size_t key, std::int64_t value) {
    for (std::size_t i = key + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += value;
  }
  // Sum of the keys below `key`.
  std::int64_t below(std::size_t key) const {
    std::int64_t sum = 0;
    for (std::size_t i = key; i > 0; i -= i & (~i + 1)) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<std::int64_t> sums_;
};

// The labels by position as dense levels 0, 1, … (AUC: 0 and 1), equal labels equal. Returns how many there are.
std::size_t label_levels(const Metric& metric, const RankedQuery& query, std::vector<std::uint32_t>& levels);

PairCounts count_pairs(const Metric& metric, const RankedQuery& query);

// The value of one metric over pairs, given the counts; there is at least one comparable pair.
struct PairsKernel {
  bool binary;  // whether it only distinguishes relevant from nonrelevant documents
  double (*value)(const PairCounts& counts);
  // How much the metric changes when `agreement` rises by one: nothing else changes when two documents swap places.
  double (*slope)(const PairCounts& counts);
};

}  // namespace podium
