// Swap deltas of metrics that only use classes of documents, such as relevant and nonrelevant: MAP, MRR, bpref, AUC.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "metrics/metric.hpp"
#include "metrics/pairs.hpp"

namespace podium {

// The partners of a row: the positions below p among `positions`, in rising order; none if there are so many that a
// whole row is faster.
std::optional<std::span<const std::uint32_t>> few_past(std::size_t p, std::size_t size,
                                                       std::span<const std::uint32_t> positions);

// A swap inside one class changes nothing. If a document of class a is at p, above one of class b ≠ a at q, then
//
//     ΔZ = scale · (sign · (lower[q] − upper[p]) + step · (between[q] − between[p + 1]))
//
// with numbers and arrays that depend on a and b alone. So each delta costs O(1), and a row is a loop without branches.
class ClassSwaps {
 public:
  // One of the three that follow. Each takes the metric's cutoff; the query has a relevant document.
  using Prepare = void (ClassSwaps::*)(const Metric& metric, const RankedQuery& query, std::size_t cutoff);
  void prepare_map(const Metric& metric, const RankedQuery& query, std::size_t cutoff);
  void prepare_mrr(const Metric& metric, const RankedQuery& query, std::size_t cutoff);
  void prepare_bpref(const Metric& metric, const RankedQuery& query, std::size_t cutoff);
  // `levels` are 0 and 1 by position and no scores are tied; `slope` is the change of the metric per step of K.
  void prepare_auc(std::span<const std::uint32_t> levels, double slope);

  // Swapping two documents at or below this position has no effect.
  std::size_t depth() const { return depth_; }
  double pair(std::size_t upper, std::size_t lower) const;
  // ΔZ of position p with the positions below p, by position.
  void row(std::size_t p, std::span<double> out) const;
  // The positions below p, in order, outside of which ΔZ with p is 0; none if a whole row is faster.
  std::optional<std::span<const std::uint32_t>> few_partners(std::size_t p) const;

 private:
  static constexpr std::size_t kMostClasses = 3;
  struct Change {
    double sign = 0, step = 0;
    const double *lower = nullptr, *upper = nullptr, *between = nullptr;
  };
  using Array = std::vector<double>;

  template <class ClassOf>
  void classify(std::size_t n, std::size_t cutoff, double scale, const ClassOf& class_of);
  Change& change(std::size_t upper, std::size_t lower) { return changes_[upper * kMostClasses + lower]; }

  std::size_t size_ = 0, depth_ = 0;
  double scale_ = 1;
  std::vector<std::uint8_t> classes_;        // by position
  std::array<Array, kMostClasses> belongs_;  // 1 or 0 by position: a factor, so that rows need no branch
  std::array<std::vector<std::uint32_t>, kMostClasses> members_;  // positions of each class, in order
  std::array<Change, kMostClasses * kMostClasses> changes_;
  Array first_, second_, third_, fourth_;  // by position; the functions that fill them describe their contents
};

}  // namespace podium
