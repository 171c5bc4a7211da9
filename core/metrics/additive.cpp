#include "metrics/additive.hpp"

#include <algorithm>
#include <cmath>

#include "metrics/kernels.hpp"

namespace podium {
namespace {

// 1 / log₂(1 + r) for rank r = 1, 2, …; LETOR's scorer leaves ranks 1 and 2 whole and divides rank r ≥ 3 by log₂ r.
double discount(const MetricSpec& spec, std::size_t position) {
  const double rank = static_cast<double>(position) + 1;
  switch (spec.convention) {
    case Convention::letor:
      return rank <= 2 ? 1.0 : 1.0 / std::log2(rank);
    case Convention::textbook:
    case Convention::trec_eval:
      return 1.0 / std::log2(rank + 1);
  }
  unreachable();
}

double flat(const MetricSpec&, std::size_t) {
  return 1.0;
}

double persistent(const MetricSpec& spec, std::size_t position) {
  const double persistence = spec.number("persistence");
  return (1 - persistence) * std::pow(persistence, static_cast<double>(position));
}

// Sums of gains up to here stay finite for any number of documents.
constexpr double largest_gain = 1e300;

// The labels for which the gain is defined and not negative.
LabelRange gain_labels(const MetricSpec& spec) {
  switch (spec.gain) {
    case Gain::exponential:
      return {0, 1000, false};  // sums of 2^1000 stay finite
    case Gain::linear:
      return {0, largest_gain, false};
    case Gain::table:
      return {0, static_cast<double>(spec.gain_table.size()) - 1, true};
  }
  unreachable();
}

// DCG takes negative labels as linear gains.
LabelRange dcg_labels(const MetricSpec& spec) {
  LabelRange range = gain_labels(spec);
  if (spec.gain == Gain::linear) range.least = -largest_gain;
  return range;
}

// NDCG@k divides by the DCG@k of the best order; LETOR's scorer gives 0 to lists shorter than k.
void by_ideal(const Metric& metric, const RankedQuery& query, MetricScratch& scratch, AdditiveForm& form) {
  const MetricSpec& spec = metric.spec();
  const auto weights = metric.weights();
  const auto ideal = metric.ideal_gains(query, weights.size(), scratch);
  form.norm = 0;
  for (std::size_t p = 0; p < ideal.size(); ++p) form.norm += ideal[p] * weights[p];
  form.empty = form.norm <= 0;
  if (spec.convention == Convention::letor && spec.cutoff != whole_list && query.size() < spec.cutoff) {
    form.weights = {};
  }
}

// Mean over k of Σ_{p ≤ k} g_p d_p / ideal_k = Σ_p g_p d_p Σ_{k ≥ p} 1 / ideal_k / n.
void by_every_ideal(const Metric& metric, const RankedQuery& query, MetricScratch& scratch, AdditiveForm& form) {
  const auto weights = metric.weights();
  const std::size_t n = form.weights.size();
  const auto ideal = metric.ideal_gains(query, n, scratch);
  form.empty = ideal.empty();
  scratch.weights.assign(n, 0.0);
  double total = 0;
  for (std::size_t k = 0; k < n && !form.empty; ++k) {
    if (k < ideal.size()) total += ideal[k] * weights[k];
    scratch.weights[k] = 1 / total;
  }
  for (std::size_t k = n; k-- > 1;) scratch.weights[k - 1] += scratch.weights[k];
  for (std::size_t k = 0; k < n; ++k) scratch.weights[k] *= weights[k];
  form.weights = scratch.weights;
  form.norm = static_cast<double>(n);
}

void needs_gain(const Metric& metric, const RankedQuery& query, MetricScratch& scratch, AdditiveForm& form) {
  form.empty = metric.ideal_gains(query, 1, scratch).empty();
}

void needs_positive_label(const Metric&, const RankedQuery& query, MetricScratch&, AdditiveForm& form) {
  form.empty = query.summary().greatest <= 0;
}

void needs_relevant(const Metric& metric, const RankedQuery& query, MetricScratch&, AdditiveForm& form) {
  form.empty = metric.count_relevant(query) == 0;
}

// P@k divides by k, also for shorter lists.
void by_cutoff(const Metric& metric, const RankedQuery& query, MetricScratch& scratch, AdditiveForm& form) {
  const std::size_t cutoff = metric.spec().cutoff;
  form.norm = static_cast<double>(cutoff == whole_list ? std::max<std::size_t>(query.size(), 1) : cutoff);
  needs_relevant(metric, query, scratch, form);
}

void by_relevant(const Metric& metric, const RankedQuery& query, MetricScratch&, AdditiveForm& form) {
  form.norm = static_cast<double>(metric.count_relevant(query));
  form.empty = form.norm == 0;
}

constexpr AdditiveKernel ndcg{AdditiveGain::by_label, discount, by_ideal};
constexpr AdditiveKernel mean_ndcg{AdditiveGain::by_label, discount, by_every_ideal};
constexpr AdditiveKernel dcg{AdditiveGain::by_label, discount, needs_gain};
constexpr AdditiveKernel precision{AdditiveGain::relevant, flat, by_cutoff};
constexpr AdditiveKernel recall{AdditiveGain::relevant, flat, by_relevant};
constexpr AdditiveKernel rbp{AdditiveGain::relevant, persistent, needs_relevant};
constexpr AdditiveKernel wta{AdditiveGain::best_label, flat, needs_positive_label, 1};

constexpr MetricKernel rows[] = {
    {.name = "ndcg", .family = MetricFamily::additive, .labels = gain_labels, .additive = &ndcg},
    {.name = "mean_ndcg", .family = MetricFamily::additive, .labels = gain_labels, .additive = &mean_ndcg},
    {.name = "dcg", .family = MetricFamily::additive, .labels = dcg_labels, .additive = &dcg},
    {.name = "p", .family = MetricFamily::additive, .additive = &precision},
    {.name = "recall", .family = MetricFamily::additive, .additive = &recall},
    {.name = "rbp", .family = MetricFamily::additive, .additive = &rbp},
    {.name = "wta", .family = MetricFamily::additive, .additive = &wta},
};

}  // namespace

std::span<const MetricKernel> additive_kernels() {
  return rows;
}

}  // namespace podium
