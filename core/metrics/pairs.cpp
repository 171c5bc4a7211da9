#include "metrics/pairs.hpp"

#include <algorithm>
#include <cmath>

#include "metrics/kernels.hpp"

namespace podium {

std::size_t label_levels(const Metric& metric, const RankedQuery& query, std::vector<std::uint32_t>& levels) {
  const auto labels = query.labels();
  levels.resize(labels.size());
  if (metric.spec().kernel->pairs->binary) {
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

namespace {

double correct(const PairCounts& counts) {
  const auto agreement = static_cast<double>(counts.agreement), comparable = static_cast<double>(counts.comparable);
  return (comparable + agreement) / (2 * comparable);
}

double correct_slope(const PairCounts& counts) {
  return 1 / (2 * static_cast<double>(counts.comparable));
}

double error(const PairCounts& counts) {
  const auto agreement = static_cast<double>(counts.agreement), comparable = static_cast<double>(counts.comparable);
  return (comparable - agreement) / (2 * comparable);
}

double error_slope(const PairCounts& counts) {
  return -1 / (2 * static_cast<double>(counts.comparable));
}

double tau(const PairCounts& counts) {
  if (counts.untied == 0) return 0.0;
  const auto agreement = static_cast<double>(counts.agreement), comparable = static_cast<double>(counts.comparable);
  return std::clamp(agreement / std::sqrt(comparable) / std::sqrt(static_cast<double>(counts.untied)), -1.0, 1.0);
}

double tau_slope(const PairCounts& counts) {
  const auto comparable = static_cast<double>(counts.comparable), untied = static_cast<double>(counts.untied);
  return counts.untied == 0 ? 0.0 : 1 / std::sqrt(comparable) / std::sqrt(untied);
}

constexpr PairsKernel auc{true, correct, correct_slope};
constexpr PairsKernel pairwise_correct{false, correct, correct_slope};
constexpr PairsKernel pairwise_error{false, error, error_slope};
constexpr PairsKernel kendall_tau{false, tau, tau_slope};

constexpr MetricKernel rows[] = {
    {.name = "auc", .family = MetricFamily::pairs, .pairs = &auc},
    {.name = "pairwise_correct", .family = MetricFamily::pairs, .pairs = &pairwise_correct},
    {.name = "pairwise_error", .family = MetricFamily::pairs, .pairs = &pairwise_error},
    {.name = "kendall_tau", .family = MetricFamily::pairs, .pairs = &kendall_tau},
};

}  // namespace

std::span<const MetricKernel> pairs_kernels() {
  return rows;
}

}  // namespace podium
