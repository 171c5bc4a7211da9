// Metrics that add up over positions: Z = Σ_p gain(label at p) · weight(p) / norm.
#pragma once

#include <cstddef>

#include "metrics/metric.hpp"

namespace podium {

enum class AdditiveGain {
  by_label,   // the gain that the specification assigns to a label
  relevant,   // 1 for a relevant document
  best_label  // 1 for a document of the highest label of its query
};

// The part of an additive metric that differs from the others.
struct AdditiveKernel {
  AdditiveGain gain;
  // The weight of a position, counted from 0, before it is divided by the norm.
  double (*weight)(const MetricSpec& spec, std::size_t position);
  // Sets the norm of the form, whether the query is empty and, if they depend on the query, the weights.
  void (*norm)(const Metric& metric, const RankedQuery& query, MetricScratch& scratch, AdditiveForm& form);
  std::size_t deepest = whole_list;  // positions below this rank never count, whatever the cutoff
};

}  // namespace podium
