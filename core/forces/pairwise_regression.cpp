#include <algorithm>
#include <numeric>

#include "forces/kernels.hpp"

namespace podium {
namespace {

// Σ w, Σ w d and Σ w d² over a set of documents, where d = l − s. The pair of i and j adds d_i − d_j to the force on i,
// so that all pairs of the set add W·d_i − Σ w_j d_j.
struct SetSums {
  double weight = 0, depth = 0, square = 0;

  void add(double w, double d) { weight += w, depth += w * d, square += w * d * d; }
  double force(double d) const { return weight * d - depth; }
  double cost() const { return 0.5 * (weight * square - depth * depth); }
};

// Numbers the distinct labels of a query from 0 into `groups` and returns how many there are; O(n) for small whole
// ones.
std::size_t number_labels(const ForceQuery& query, ForceScratch& scratch, std::vector<std::uint32_t>& groups) {
  const std::size_t n = query.labels.size();
  groups.resize(n);
  summarize(query.labels, scratch.summary);
  if (scratch.summary.integral) {
    for (std::size_t i = 0; i < n; ++i) groups[i] = static_cast<std::uint32_t>(query.labels[i]);
    return LabelSummary::small;
  }
  scratch.label.assign(query.labels.begin(), query.labels.end());
  std::ranges::sort(scratch.label);
  const auto end = std::unique(scratch.label.begin(), scratch.label.end());
  for (std::size_t i = 0; i < n; ++i) {
    groups[i] = static_cast<std::uint32_t>(std::lower_bound(scratch.label.begin(), end, query.labels[i]) -
                                           scratch.label.begin());
  }
  return static_cast<std::size_t>(end - scratch.label.begin());
}

}  // namespace

void pairwise_regression_force(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch,
                               const ForceSums& sums) {
  const std::size_t n = query.scores.size();
  std::vector<double>& depth = scratch.row;
  depth.resize(n);
  double middle = 0;  // sums keep more digits if depths are counted from their mean
  for (std::size_t i = 0; i < n; ++i) middle += (query.labels[i] - query.scores[i]) / static_cast<double>(n);
  SetSums all;
  for (std::size_t i = 0; i < n; ++i) {
    depth[i] = query.labels[i] - query.scores[i] - middle;
    all.add(query.weight(i), depth[i]);
  }
  // Pairs of equal labels are taken away again, or none if they count too.
  std::vector<SetSums> equal(1);
  std::vector<std::uint32_t>& group = scratch.order;
  group.assign(n, 0);
  if (!spec.ties) {
    equal.resize(number_labels(query, scratch, group));
    for (std::size_t i = 0; i < n; ++i) equal[group[i]].add(query.weight(i), depth[i]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = query.weight(i);
    const SetSums& same = equal[group[i]];
    sums.force[i] += weight * (all.force(depth[i]) - same.force(depth[i]));
    if (sums.curvature) sums.curvature[i] += weight * (all.weight - (spec.ties ? weight : same.weight));
  }
  if (!sums.cost) return;
  *sums.cost += all.cost();
  for (const SetSums& same : equal) *sums.cost -= same.cost();
}

}  // namespace podium
