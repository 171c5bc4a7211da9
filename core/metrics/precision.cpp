#include "metrics/precision.hpp"

#include <algorithm>

#include "metrics/kernels.hpp"

namespace podium {
namespace {

std::size_t count_in_group(const Metric& metric, std::span<const double> labels, std::size_t begin, std::size_t end) {
  std::size_t relevant = 0;
  for (std::size_t p = begin; p < end; ++p) relevant += metric.relevant(labels[p]);
  return relevant;
}

// Inside a group of m tied documents, r of them relevant, position t is relevant with probability r/m, and then
// (t − 1)(r − 1)/(m − 1) of those before it in the group are expected to be (McSherry and Najork 2008).
double expected_average_precision(const Metric& metric, const RankedQuery& query) {
  const auto labels = query.labels();
  const auto ends = query.group_ends();
  const std::size_t depth = std::min(labels.size(), metric.spec().cutoff);
  double sum = 0, hits = 0;
  for (std::size_t begin = 0; begin < depth; begin = ends[begin]) {
    const std::size_t end = ends[begin];
    const double m = static_cast<double>(end - begin);
    const double r = static_cast<double>(count_in_group(metric, labels, begin, end));
    for (std::size_t p = begin; p < std::min(end, depth) && r > 0; ++p) {
      const double before = m > 1 ? static_cast<double>(p - begin) * (r - 1) / (m - 1) : 0.0;
      sum += r / m * (hits + 1 + before) / static_cast<double>(p + 1);
    }
    hits += r;
  }
  return sum;
}

// The first group with relevant documents holds the first one; it is the t-th of the m with probability
// C(m − t, r − 1) / C(m, r), taken from t to t + 1 by the factor (m − t − r + 1) / (m − t).
double expected_reciprocal_first(const Metric& metric, const RankedQuery& query) {
  const auto labels = query.labels();
  const auto ends = query.group_ends();
  const std::size_t depth = std::min(labels.size(), metric.spec().cutoff);
  for (std::size_t begin = 0; begin < depth; begin = ends[begin]) {
    const std::size_t end = ends[begin];
    const std::size_t r = count_in_group(metric, labels, begin, end);
    if (r == 0) continue;
    double chance = static_cast<double>(r) / static_cast<double>(end - begin), sum = 0;
    for (std::size_t p = begin; p < std::min(end, depth); ++p) {
      sum += chance / static_cast<double>(p + 1);
      const std::size_t left = end - p - 1;
      if (left < r) break;
      chance *= static_cast<double>(left - r + 1) / static_cast<double>(left);
    }
    return sum;
  }
  return 0.0;
}

}  // namespace

double average_precision(const Metric& metric, const RankedQuery& query, std::size_t total) {
  if (metric.spec().ties == Ties::average) {
    return expected_average_precision(metric, query) / static_cast<double>(total);
  }
  const auto labels = query.labels();
  const std::size_t depth = std::min(labels.size(), metric.spec().cutoff);
  double sum = 0;
  std::size_t hits = 0;
  for (std::size_t p = 0; p < depth; ++p) {
    if (metric.relevant(labels[p])) sum += static_cast<double>(++hits) / static_cast<double>(p + 1);
  }
  return sum / static_cast<double>(total);
}

double reciprocal_rank(const Metric& metric, const RankedQuery& query) {
  if (metric.spec().ties == Ties::average) return expected_reciprocal_first(metric, query);
  const auto labels = query.labels();
  const std::size_t depth = std::min(labels.size(), metric.spec().cutoff);
  for (std::size_t p = 0; p < depth; ++p) {
    if (metric.relevant(labels[p])) return 1.0 / static_cast<double>(p + 1);
  }
  return 0.0;
}

Judgment judgment(const Metric& metric, const RankedQuery& query, std::size_t position) {
  const double label = query.labels()[position];
  if (!query.judged(query.order()[position])) return Judgment::unjudged;
  if (metric.relevant(label)) return Judgment::relevant;
  const bool withheld = label < 0 && metric.spec().convention == Convention::trec_eval;
  return withheld ? Judgment::unjudged : Judgment::nonrelevant;
}

std::size_t count_nonrelevant(const Metric& metric, const RankedQuery& query) {
  const auto labels = query.all_labels();
  const bool withhold_negative = metric.spec().convention == Convention::trec_eval;
  std::size_t count = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (withhold_negative && labels[i] < 0) continue;
    count += !metric.relevant(labels[i]) && query.judged(static_cast<std::uint32_t>(i));
  }
  return count;
}

double binary_preference(const Metric& metric, const RankedQuery& query, std::size_t total) {
  const std::size_t nonrelevant = count_nonrelevant(metric, query);
  const bool average = metric.spec().ties == Ties::average;
  const auto ends = query.group_ends();
  double sum = 0;
  std::size_t above = 0;
  for (std::size_t begin = 0; begin < query.labels().size();) {
    const std::size_t end = average ? ends[begin] : begin + 1;
    std::size_t relevant = 0, tied = 0;
    for (std::size_t p = begin; p < end; ++p) {
      const Judgment kind = judgment(metric, query, p);
      relevant += kind == Judgment::relevant, tied += kind == Judgment::nonrelevant;
    }
    if (relevant > 0) {  // among the tied nonrelevant ones a relevant document has 0, …, tied above it, equally likely
      double mean = 0;
      for (std::size_t t = 0; t <= tied; ++t) mean += preference(above + t, total, nonrelevant);
      sum += static_cast<double>(relevant) * mean / static_cast<double>(tied + 1);
    }
    above += tied;
    begin = end;
  }
  return sum / static_cast<double>(total);
}

namespace {

constexpr MetricKernel rows[] = {
    {.name = "map", .family = MetricFamily::average_precision},
    {.name = "mrr", .family = MetricFamily::reciprocal_rank},
    {.name = "bpref", .family = MetricFamily::binary_preference},
};

}  // namespace

std::span<const MetricKernel> precision_kernels() {
  return rows;
}

}  // namespace podium
