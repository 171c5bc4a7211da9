#include "metrics/cascade.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "interrupt.hpp"
#include "metrics/kernels.hpp"

namespace podium {
namespace {

// If the probability that the reader gets this far is smaller, the rest of the list does not change a double.
constexpr double unreached = 1e-20;

// M(s), the mean over the s-subsets of a tie group of the probability that none of them satisfies, for s = 0 … last.
// Taking in the k-th document: M_k(s) = ((k − s)/k) M_{k−1}(s) + (s/k) (1 − R_k) M_{k−1}(s − 1).
// Documents with R = 0 come first, where M(s) = 1, and M(s) ≤ M(1)^s (Maclaurin) bounds the s for which M(s) matters: a
// group of m documents costs O(m · s), with few s, unless nearly all of them are unlikely to satisfy.
void mean_survivals(const Metric& metric, std::span<const double> labels, std::size_t last, std::vector<double>& passes,
                    std::vector<double>& means) {
  passes.clear();
  double missing = 0;
  for (const double label : labels) {
    const double satisfied = metric.satisfaction(label);
    if (satisfied > 0) passes.push_back(1 - satisfied), missing += satisfied;
  }
  const std::size_t sure = labels.size() - passes.size();
  means.assign(last + 1, 0.0);
  std::fill(means.begin(), means.begin() + static_cast<std::ptrdiff_t>(std::min(sure, last) + 1), 1.0);
  if (passes.empty()) return;
  const double steps = std::log(unreached) / std::log1p(-missing / static_cast<double>(labels.size()));
  const std::size_t reached = steps < static_cast<double>(last) ? static_cast<std::size_t>(steps) + 1 : last;
  std::fill(means.begin() + static_cast<std::ptrdiff_t>(reached + 1), means.end(), 0.0);
  InterruptPace pace;
  for (std::size_t k = sure + 1; k <= labels.size(); ++k) {
    pace.step(std::min(k, reached));
    const double pass = passes[k - sure - 1], size = static_cast<double>(k);
    for (std::size_t s = std::min(k, reached); s > 0; --s) {
      const double share = static_cast<double>(s) / size;
      means[s] = (1 - share) * means[s] + share * pass * means[s - 1];
    }
  }
}

double expected_over_ties(const Metric& metric, const RankedQuery& query, std::size_t depth) {
  const auto labels = query.labels();
  const auto ends = query.group_ends();
  std::vector<double> passes, means;
  double sum = 0, reach = 1;
  for (std::size_t begin = 0; begin < depth; begin = ends[begin]) {
    const std::size_t end = ends[begin];
    const std::size_t last = std::min(end, depth) - begin;
    mean_survivals(metric, labels.subspan(begin, end - begin), last, passes, means);
    for (std::size_t t = 0; t < last; ++t) {
      sum += reach * (means[t] - means[t + 1]) / static_cast<double>(begin + t + 1);
    }
    reach *= means[last];
  }
  return sum;
}

}  // namespace

double expected_reciprocal_rank(const Metric& metric, const RankedQuery& query) {
  const auto labels = query.labels();
  const std::size_t depth = std::min(labels.size(), metric.spec().cutoff);
  if (metric.spec().ties == Ties::average) return expected_over_ties(metric, query, depth);
  double sum = 0, reach = 1;
  for (std::size_t p = 0; p < depth; ++p) {
    const double satisfied = metric.satisfaction(labels[p]);
    sum += reach * satisfied / static_cast<double>(p + 1);
    reach *= 1 - satisfied;
  }
  return sum;
}

namespace {

LabelRange up_to_largest(const MetricSpec& spec) {
  return {0, spec.number("max"), false};
}

constexpr MetricKernel rows[] = {{.name = "err", .family = MetricFamily::cascade, .labels = up_to_largest}};

}  // namespace

std::span<const MetricKernel> cascade_kernels() {
  return rows;
}

}  // namespace podium
