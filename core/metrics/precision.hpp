// Metrics of relevant against not relevant that look back from each relevant document: AP, RR, bpref.
#pragma once

#include <cstddef>

#include "metrics/metric.hpp"

namespace podium {

// AP@k = (1/R) Σ_{r ≤ k, relevant} (relevant documents in the first r) / r; `total` is R.
double average_precision(const Metric& metric, const RankedQuery& query, std::size_t total);

// RR@k = 1 / rank of the first relevant document, 0 if that is below rank k.
double reciprocal_rank(const Metric& metric, const RankedQuery& query);

// The numbers of judged documents of a query that bpref uses.
enum class Judgment { unjudged, nonrelevant, relevant };
Judgment judgment(const Metric& metric, const RankedQuery& query, std::size_t position);
// Judged nonrelevant documents of the query, ranked or not.
std::size_t count_nonrelevant(const Metric& metric, const RankedQuery& query);

// bpref = (1/R) Σ_{relevant} (1 − min(judged nonrelevant above it, R) / min(N, R)).
double binary_preference(const Metric& metric, const RankedQuery& query, std::size_t total);

// The summand of a relevant document with `above` judged nonrelevant documents above it.
inline double preference(std::size_t above, std::size_t total, std::size_t nonrelevant) {
  if (above == 0) return 1.0;
  return 1.0 - static_cast<double>(above < total ? above : total) /
                   static_cast<double>(nonrelevant < total ? nonrelevant : total);
}

}  // namespace podium
