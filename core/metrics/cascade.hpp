// ERR: a reader goes down the list and stops at the first satisfying document.
#pragma once

#include "metrics/metric.hpp"

namespace podium {

// ERR@k = Σ_{r ≤ k} (1/r) R_r Π_{q < r} (1 − R_q), R = (2^label − 1) / 2^largest (Chapelle et al. 2009).
double expected_reciprocal_rank(const Metric& metric, const RankedQuery& query);

}  // namespace podium
