#include "metrics/metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "metrics/cascade.hpp"
#include "metrics/pairs.hpp"
#include "metrics/precision.hpp"

namespace podium {
namespace {

// 1 / log₂(1 + r) for rank r = 1, 2, …; LETOR's scorer leaves ranks 1 and 2 whole and divides rank r ≥ 3 by log₂ r.
double discount(Convention convention, std::size_t position) {
  const double rank = static_cast<double>(position) + 1;
  switch (convention) {
    case Convention::letor:
      return rank <= 2 ? 1.0 : 1.0 / std::log2(rank);
    case Convention::textbook:
    case Convention::trec_eval:
      return 1.0 / std::log2(rank + 1);
  }
  unreachable();
}

std::vector<double> position_weights(const MetricSpec& spec, std::size_t longest) {
  std::vector<double> weights(std::min(spec.cutoff, longest), 1.0);
  switch (spec.measure) {
    case Measure::ndcg:
    case Measure::mean_ndcg:
    case Measure::dcg:
      for (std::size_t p = 0; p < weights.size(); ++p) weights[p] = discount(spec.convention, p);
      break;
    case Measure::rbp:
      for (std::size_t p = 0; p < weights.size(); ++p) {
        weights[p] = (1 - spec.persistence) * std::pow(spec.persistence, static_cast<double>(p));
      }
      break;
    case Measure::wta:
      weights.resize(std::min<std::size_t>(longest, 1));
      break;
    case Measure::precision:
    case Measure::recall:
      break;
    case Measure::map:
    case Measure::mrr:
    case Measure::err:
    case Measure::bpref:
    case Measure::auc:
    case Measure::pairwise_error:
    case Measure::pairwise_correct:
    case Measure::kendall_tau:
      unreachable();
  }
  return weights;
}

}  // namespace

Metric::Metric(MetricSpec spec, std::size_t longest) : spec_(std::move(spec)) {
  if (is_additive(spec_.measure)) weights_ = position_weights(spec_, longest);
  for (std::size_t level = 0; level < level_gains_.size(); ++level) {
    level_gains_[level] = label_gain(static_cast<double>(level));
  }
  levels_.resize(level_gains_.size());
  std::iota(levels_.rbegin(), levels_.rend(), std::size_t{0});
  std::stable_sort(levels_.begin(), levels_.end(),
                   [&](std::size_t a, std::size_t b) { return level_gains_[a] > level_gains_[b]; });
}

double Metric::label_gain(double label) const {
  switch (spec_.gain) {
    case Gain::exponential:
      return std::exp2(label) - 1;
    case Gain::linear:
      return label;
    case Gain::table: {
      const auto level = static_cast<std::size_t>(label);
      return level < spec_.gain_table.size() ? spec_.gain_table[level] : 0.0;
    }
  }
  unreachable();
}

double Metric::gain(double label) const {
  switch (spec_.measure) {
    case Measure::precision:
    case Measure::recall:
    case Measure::rbp:
      return relevant(label) ? 1.0 : 0.0;
    case Measure::ndcg:
    case Measure::mean_ndcg:
    case Measure::dcg:
    case Measure::wta:
      break;
    case Measure::map:
    case Measure::mrr:
    case Measure::err:
    case Measure::bpref:
    case Measure::auc:
    case Measure::pairwise_error:
    case Measure::pairwise_correct:
    case Measure::kendall_tau:
      unreachable();
  }
  if (label < 0 && spec_.convention == Convention::trec_eval) return 0.0;
  if (label >= 0 && label < static_cast<double>(LabelSummary::small)) {
    const auto level = static_cast<std::size_t>(label);
    if (static_cast<double>(level) == label) return level_gains_[level];
  }
  return label_gain(label);
}

double Metric::gain_in(const RankedQuery& query, double label) const {
  if (spec_.measure == Measure::wta) return label == query.summary().greatest ? 1.0 : 0.0;
  return gain(label);
}

double Metric::satisfaction(double label) const {
  return label <= 0 ? 0.0 : (std::exp2(label) - 1) / std::exp2(spec_.largest_label);
}

std::size_t Metric::depth(std::size_t documents) const {
  if (spec_.ties == Ties::average) return documents;
  switch (family_of(spec_.measure)) {
    case MetricFamily::pairs:
    case MetricFamily::binary_preference:
      return documents;
    case MetricFamily::additive:
    case MetricFamily::average_precision:
    case MetricFamily::reciprocal_rank:
    case MetricFamily::cascade:
      break;
  }
  const std::size_t cutoff = spec_.measure == Measure::wta ? 1 : spec_.cutoff;
  return std::min(documents, cutoff);
}

std::span<const double> Metric::ideal_gains(const RankedQuery& query, std::size_t depth, MetricScratch& scratch) const {
  std::vector<double>& ideal = scratch.ideal;
  ideal.clear();
  const LabelSummary& summary = query.summary();
  if (summary.integral) {
    for (const std::size_t level : levels_) {
      if (ideal.size() >= depth || level_gains_[level] <= 0) break;
      if (summary.counts[level] == 0) continue;
      const std::size_t places_left = depth - ideal.size();
      ideal.insert(ideal.end(), std::min<std::size_t>(places_left, summary.counts[level]), level_gains_[level]);
    }
    return ideal;
  }
  for (const double label : query.all_labels()) {
    const double value = gain(label);
    if (value > 0) ideal.push_back(value);
  }
  std::sort(ideal.begin(), ideal.end(), std::greater<>());
  ideal.resize(std::min(depth, ideal.size()));
  return ideal;
}

AdditiveForm Metric::additive(const RankedQuery& query, MetricScratch& scratch) const {
  const std::size_t documents = query.size();
  AdditiveForm form;
  form.weights = std::span(weights_).first(std::min(weights_.size(), documents));
  switch (spec_.measure) {
    case Measure::ndcg: {
      const auto ideal = ideal_gains(query, weights_.size(), scratch);
      form.norm = 0;
      for (std::size_t p = 0; p < ideal.size(); ++p) form.norm += ideal[p] * weights_[p];
      form.empty = form.norm <= 0;
      if (spec_.convention == Convention::letor && spec_.cutoff != whole_list && documents < spec_.cutoff) {
        form.weights = {};
      }
      break;
    }
    case Measure::mean_ndcg: {
      // Mean over k of Σ_{p ≤ k} g_p d_p / ideal_k = Σ_p g_p d_p Σ_{k ≥ p} 1 / ideal_k / n.
      const std::size_t n = form.weights.size();
      const auto ideal = ideal_gains(query, n, scratch);
      form.empty = ideal.empty();
      scratch.weights.assign(n, 0.0);
      double total = 0;
      for (std::size_t k = 0; k < n && !form.empty; ++k) {
        if (k < ideal.size()) total += ideal[k] * weights_[k];
        scratch.weights[k] = 1 / total;
      }
      for (std::size_t k = n; k-- > 1;) scratch.weights[k - 1] += scratch.weights[k];
      for (std::size_t k = 0; k < n; ++k) scratch.weights[k] *= weights_[k];
      form.weights = scratch.weights;
      form.norm = static_cast<double>(n);
      break;
    }
    case Measure::dcg:
      form.empty = ideal_gains(query, 1, scratch).empty();
      break;
    case Measure::wta:
      form.empty = query.summary().greatest <= 0;
      break;
    case Measure::precision:
      form.norm = static_cast<double>(spec_.cutoff == whole_list ? std::max<std::size_t>(documents, 1) : spec_.cutoff);
      form.empty = query.count_relevant(spec_.relevant_from) == 0;
      break;
    case Measure::recall:
      form.norm = static_cast<double>(query.count_relevant(spec_.relevant_from));
      form.empty = form.norm == 0;
      break;
    case Measure::rbp:
      form.empty = query.count_relevant(spec_.relevant_from) == 0;
      break;
    case Measure::map:
    case Measure::mrr:
    case Measure::err:
    case Measure::bpref:
    case Measure::auc:
    case Measure::pairwise_error:
    case Measure::pairwise_correct:
    case Measure::kendall_tau:
      unreachable();
  }
  return form;
}

double Metric::sum(const RankedQuery& query, const AdditiveForm& form) const {
  const auto labels = query.labels();
  double total = 0;
  for (std::size_t p = 0; p < form.weights.size(); ++p) total += gain_in(query, labels[p]) * form.weights[p];
  return total;
}

// Each document of a tie group stands equally often at each of its positions: mean weight × sum of gains.
double Metric::expected_sum(const RankedQuery& query, const AdditiveForm& form) const {
  const auto labels = query.labels();
  const auto ends = query.group_ends();
  double total = 0;
  for (std::size_t begin = 0; begin < form.weights.size(); begin = ends[begin]) {
    const std::size_t end = ends[begin];
    double weight = 0, gains = 0;
    for (std::size_t p = begin; p < std::min(end, form.weights.size()); ++p) weight += form.weights[p];
    for (std::size_t p = begin; p < end; ++p) gains += gain_in(query, labels[p]);
    total += gains * weight / static_cast<double>(end - begin);
  }
  return total;
}

MetricValue Metric::finish(double value, bool empty) const {
  if (!empty) return {value, false};
  switch (spec_.empty) {
    case Empty::zero:
      return {0.0, true};
    case Empty::one:
      return {1.0, true};
    case Empty::skip:
      return {std::numeric_limits<double>::quiet_NaN(), true};
  }
  unreachable();
}

MetricValue Metric::value(const RankedQuery& query, MetricScratch& scratch) const {
  const auto relevant_documents = [&] { return query.count_relevant(spec_.relevant_from); };
  switch (family_of(spec_.measure)) {
    case MetricFamily::additive: {
      const AdditiveForm form = additive(query, scratch);
      if (form.empty) return finish(0, true);
      const double total = spec_.ties == Ties::average ? expected_sum(query, form) : sum(query, form);
      return {form.norm == 1 ? total : total / form.norm, false};
    }
    case MetricFamily::pairs: {
      const PairCounts counts = count_pairs(*this, query);
      return finish(pairs_value(spec_.measure, counts), counts.comparable == 0);
    }
    case MetricFamily::cascade:
      return finish(expected_reciprocal_rank(*this, query), query.summary().greatest <= 0);
    case MetricFamily::average_precision: {
      const std::size_t total = relevant_documents();
      return total == 0 ? finish(0, true) : MetricValue{average_precision(*this, query, total), false};
    }
    case MetricFamily::reciprocal_rank:
      return relevant_documents() == 0 ? finish(0, true) : MetricValue{reciprocal_rank(*this, query), false};
    case MetricFamily::binary_preference: {
      const std::size_t total = relevant_documents();
      return total == 0 ? finish(0, true) : MetricValue{binary_preference(*this, query, total), false};
    }
  }
  unreachable();
}

}  // namespace podium
