#include "metrics/metric.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "metrics/additive.hpp"
#include "metrics/cascade.hpp"
#include "metrics/pairs.hpp"
#include "metrics/precision.hpp"

namespace podium {

Metric::Metric(MetricSpec spec, std::size_t longest) : spec_(std::move(spec)) {
  const auto number = [&](const char* name, double otherwise) {
    const auto found = spec_.numbers.find(name);
    return found == spec_.numbers.end() ? otherwise : found->second;
  };
  relevant_from_ = number("rel", 1);
  largest_satisfaction_ = std::exp2(number("max", 0));
  if (const AdditiveKernel* const kernel = spec_.kernel->additive) {
    weights_.resize(std::min({spec_.cutoff, longest, kernel->deepest}));
    for (std::size_t p = 0; p < weights_.size(); ++p) weights_[p] = kernel->weight(spec_, p);
  }
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
  if (label < 0 && spec_.convention == Convention::trec_eval) return 0.0;
  if (label >= 0 && label < static_cast<double>(LabelSummary::small)) {
    const auto level = static_cast<std::size_t>(label);
    if (static_cast<double>(level) == label) return level_gains_[level];
  }
  return label_gain(label);
}

double Metric::gain_in(const RankedQuery& query, double label) const {
  switch (spec_.kernel->additive->gain) {
    case AdditiveGain::by_label:
      return gain(label);
    case AdditiveGain::relevant:
      return relevant(label) ? 1.0 : 0.0;
    case AdditiveGain::best_label:
      return label == query.summary().greatest ? 1.0 : 0.0;
  }
  unreachable();
}

double Metric::level_gain(std::size_t level, double greatest) const {
  switch (spec_.kernel->additive->gain) {
    case AdditiveGain::by_label:
      return level_gains_[level];
    case AdditiveGain::relevant:
      return relevant(static_cast<double>(level)) ? 1.0 : 0.0;
    case AdditiveGain::best_label:
      return static_cast<double>(level) == greatest ? 1.0 : 0.0;
  }
  unreachable();
}

double Metric::satisfaction(double label) const {
  return label <= 0 ? 0.0 : (std::exp2(label) - 1) / largest_satisfaction_;
}

std::size_t Metric::depth(std::size_t documents) const {
  if (spec_.ties == Ties::average) return documents;
  switch (spec_.kernel->family) {
    case MetricFamily::pairs:
    case MetricFamily::binary_preference:
    case MetricFamily::list:
      return documents;
    case MetricFamily::additive:
      return std::min({documents, spec_.cutoff, spec_.kernel->additive->deepest});
    case MetricFamily::average_precision:
    case MetricFamily::reciprocal_rank:
    case MetricFamily::cascade:
      return std::min(documents, spec_.cutoff);
  }
  unreachable();
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
  AdditiveForm form;
  form.weights = std::span(weights_).first(std::min(weights_.size(), query.size()));
  spec_.kernel->additive->norm(*this, query, scratch, form);
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
  switch (spec_.kernel->family) {
    case MetricFamily::additive: {
      const AdditiveForm form = additive(query, scratch);
      if (form.empty) return finish(0, true);
      const double total = spec_.ties == Ties::average ? expected_sum(query, form) : sum(query, form);
      return {form.norm == 1 ? total : total / form.norm, false};
    }
    case MetricFamily::pairs: {
      const PairCounts counts = count_pairs(*this, query);
      return finish(counts.comparable == 0 ? 0 : spec_.kernel->pairs->value(counts), counts.comparable == 0);
    }
    case MetricFamily::cascade:
      return finish(expected_reciprocal_rank(*this, query), query.summary().greatest <= 0);
    case MetricFamily::average_precision: {
      const std::size_t total = count_relevant(query);
      return total == 0 ? finish(0, true) : MetricValue{average_precision(*this, query, total), false};
    }
    case MetricFamily::reciprocal_rank:
      return count_relevant(query) == 0 ? finish(0, true) : MetricValue{reciprocal_rank(*this, query), false};
    case MetricFamily::binary_preference: {
      const std::size_t total = count_relevant(query);
      return total == 0 ? finish(0, true) : MetricValue{binary_preference(*this, query, total), false};
    }
    case MetricFamily::list: {
      if (query.size() == 0) return query.all_labels().empty() ? finish(0, true) : MetricValue{0.0, false};
      query.list(scratch.scores, scratch.labels);
      const double value =
          spec_.kernel->list(spec_, scratch.labels.size(), scratch.scores.data(), scratch.labels.data());
      return finish(value, std::isnan(value));
    }
  }
  unreachable();
}

}  // namespace podium
