// A metric ready to use: its value on one ranked query. Training, early stopping, evaluation and swap deltas
// all come here.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "metrics/ranked.hpp"
#include "metrics/spec.hpp"

namespace podium {

struct MetricValue {
  double value;  // NaN if the query is empty and left out
  bool empty;    // no relevant document; for metrics over pairs, no pair of different labels
};

// Z = Σ_p gain(label at p) · weights[p] / norm, for the metrics of additive.cpp.
struct AdditiveForm {
  std::span<const double> weights;  // by position; beyond its end the weight is 0
  double norm = 1;
  bool empty = false;
};

// Working memory of a metric, kept from query to query; one per thread.
struct MetricScratch {
  std::vector<double> ideal, weights, scores, labels;
};

class Metric {
 public:
  // `longest` is the number of documents of the longest query it will see.
  Metric(MetricSpec spec, std::size_t longest);

  const MetricSpec& spec() const { return spec_; }
  MetricValue value(const RankedQuery& query, MetricScratch& scratch) const;

  // The number of positions from the top on which the value depends.
  std::size_t depth(std::size_t documents) const;
  double gain(double label) const;
  bool relevant(double label) const { return label >= relevant_from_; }
  std::size_t count_relevant(const RankedQuery& query) const { return query.count_relevant(relevant_from_); }
  // ERR: the probability that a document of this label satisfies, (2^label − 1) / 2^largest.
  double satisfaction(double label) const;
  // The gain of a document in an additive metric: WTA's depends on the labels of its query.
  double gain_in(const RankedQuery& query, double label) const;
  // The same for a small whole label, given the greatest label of the query.
  double level_gain(std::size_t level, double greatest) const;
  // The form of an additive metric on this query, valid until the scratch is used again.
  AdditiveForm additive(const RankedQuery& query, MetricScratch& scratch) const;
  // The weights of positions in an additive metric, before they are divided by the norm.
  std::span<const double> weights() const { return weights_; }
  // The gains of the best order of all judged documents, best first, at most `depth` of them.
  std::span<const double> ideal_gains(const RankedQuery& query, std::size_t depth, MetricScratch& scratch) const;

 private:
  double label_gain(double label) const;  // by the gain of the specification alone, whatever the metric
  double sum(const RankedQuery& query, const AdditiveForm& form) const;
  double expected_sum(const RankedQuery& query, const AdditiveForm& form) const;
  MetricValue finish(double value, bool empty) const;

  MetricSpec spec_;
  double relevant_from_ = 1;                               // a label of at least this is relevant
  double largest_satisfaction_ = 1;                        // ERR: 2^largest
  std::vector<double> weights_;                            // of positions, for additive metrics
  std::array<double, LabelSummary::small> level_gains_{};  // of small whole labels
  std::vector<std::size_t> levels_;                        // small labels, highest gain first
};

}  // namespace podium
