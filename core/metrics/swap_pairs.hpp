// Swap deltas of metrics that count pairs of documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/pairs.hpp"

namespace podium {

// Let i rank above j with labels a, b. A third document k counts w_k = 2 between them, 1 if tied with one of them,
// and ΔK = −2 sgn(a − b) − Σ_k w_k (sgn(a − l_k) − sgn(b − l_k)). With F(x) = Σ w (l < x) + Σ w (l ≤ x) the sum is
// F(a) − F(b). Without ties, and with few levels of labels, F over the documents above each position is tabulated and
// each delta costs O(1); otherwise F is kept in a tree while a row is filled, O(log n) per delta.
class PairSwaps {
 public:
  // `levels` are dense labels by position, `distinct` of them; `tied` says whether any scores are tied; `slope` is the
  // change of the metric per step of K.
  void prepare(const RankedQuery& query, std::vector<std::uint32_t> levels, std::size_t distinct, bool tied,
               double slope);

  // ΔZ of position p with all positions, by position; those before `first` may be left as they are.
  void row(std::size_t p, std::span<double> out, std::size_t first);

 private:
  void tabulate();
  void row_by_tree(std::size_t p, std::span<double> out);
  std::int32_t at(std::size_t level, std::size_t p) const { return above_[level * (size_ + 1) + p]; }

  std::size_t size_ = 0, distinct_ = 0;
  double slope_ = 1;
  bool tabulated_ = false;
  std::span<const std::uint32_t> group_ends_;
  std::vector<std::uint32_t> levels_;
  std::vector<std::int32_t> above_;  // F(level) over the documents above p, one row of n + 1 for each level
  std::vector<std::int32_t> own_;    // F(level of p) over the documents above p
  std::vector<std::int32_t> start_;  // F(level) over the documents above the row's next position, by level
  Fenwick between_;
};

}  // namespace podium
