#include "metrics/pairs.hpp"

#include <algorithm>
#include <cmath>

namespace podium {

std::size_t label_levels(const Metric& metric, const RankedQuery& query, std::vector<std::uint32_t>& levels) {
  const auto labels = query.labels();
  levels.resize(labels.size());
  if (metric.spec().measure == Measure::auc) {
    for (std::size_t p = 0; p < labels.size(); ++p) levels[p] = metric.relevant(labels[p]);
    return 2;
  }
  std::vector<double> distinct(labels.begin(), labels.end());
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  for (std::size_t p = 0; p < labels.size(); ++p) {
    levels[p] =
        static_cast<std::uint32_t>(std::lower_bound(distinct.begin(), distinct.end(), labels[p]) - distinct.begin());
  }
  return distinct.size();
}

PairCounts count_pairs(const Metric& metric, const RankedQuery& query) {
  std::vector<std::uint32_t> levels;
  const std::size_t distinct = label_levels(metric, query, levels);
  const auto ends = query.group_ends();
  const auto pairs_of = [](std::int64_t n) { return n * (n - 1) / 2; };
  PairCounts out;
  out.all = out.comparable = out.untied = pairs_of(static_cast<std::int64_t>(levels.size()));
  Fenwick above;
  above.reset(distinct);
  std::vector<std::int64_t> of_level(distinct, 0);
  for (std::size_t begin = 0; begin < levels.size(); begin = ends[begin]) {
    const std::size_t end = ends[begin];
    out.untied -= pairs_of(static_cast<std::int64_t>(end - begin));
    for (std::size_t p = begin; p < end; ++p) {
      const std::int64_t lower = above.below(levels[p]);
      const std::int64_t higher = static_cast<std::int64_t>(begin) - above.below(levels[p] + 1);
      out.agreement += higher - lower;
    }
    for (std::size_t p = begin; p < end; ++p) above.add(levels[p], 1), ++of_level[levels[p]];
  }
  for (const std::int64_t n : of_level) out.comparable -= pairs_of(n);
  return out;
}

double pairs_value(Measure measure, const PairCounts& counts) {
  if (counts.comparable == 0) return 0.0;
  const auto agreement = static_cast<double>(counts.agreement), comparable = static_cast<double>(counts.comparable);
  if (measure == Measure::kendall_tau) {
    if (counts.untied == 0) return 0.0;
    const double tau = agreement / std::sqrt(comparable) / std::sqrt(static_cast<double>(counts.untied));
    return std::clamp(tau, -1.0, 1.0);
  }
  const double wrong_or_right = measure == Measure::pairwise_error ? -agreement : agreement;
  return (comparable + wrong_or_right) / (2 * comparable);
}

}  // namespace podium
