// Metrics that add up over positions: Z = Σ_p gain(label at p) · weight(p) / norm.
#pragma once

#include <cstddef>

#include "metrics/metric.hpp"

namespace podium {

enum class AdditiveGain {
  by_label,   // what the specification says a label is worth
  relevant,   // 1 for a relevant document
  best_label  // 1 for a document of the highest label of its query
};

// What one additive metric adds to the sum that all of them are.
struct AdditiveKernel {
  AdditiveGain gain;
  // The weight of a position, counted from 0, before it is divided by the norm.
  double (*weight)(const MetricSpec& spec, std::size_t position);
  // Sets the norm of the form, whether the query is empty and, where they depend on the query, the weights.
  void (*norm)(const Metric& metric, const RankedQuery& query, MetricScratch& scratch, AdditiveForm& form);
  std::size_t deepest = whole_list;  // no position past this many counts, whatever the cutoff
};

}  // namespace podium
