#include <algorithm>
#include <cmath>

#include "forces/kernels.hpp"
#include "forces/potentials.hpp"

namespace podium {
namespace {

// C = ½ (s − l)²: λ = l − s, w = 1.
void squared(const Force&, const ForceQuery& query, ForceScratch&, const ForceSums& sums) {
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    const double weight = query.weight(i), gap = query.labels[i] - query.scores[i];
    sums.force[i] += weight * gap;
    if (sums.curvature) sums.curvature[i] += weight;
    if (sums.cost) *sums.cost += 0.5 * weight * gap * gap;
  }
}

// Cumulative link: P(label ≤ k) = u_k = 1 / (1 + e^{s − b_k}), C = −log(u_k − u_{k−1}), so λ = u_k + u_{k−1} − 1 with
// u_{−1} = 0 and u_{last} = 1. log(u_k − u_{k−1}) = log(1 − e^{−Δ}) + log u_k + log(1 − u_{k−1}), Δ = b_k − b_{k−1}.
void ordinal(const Force&, const ForceQuery& query, ForceScratch&, const ForceSums& sums) {
  const auto thresholds = query.parameters;
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    const auto level = static_cast<std::size_t>(query.labels[i]);
    const double weight = query.weight(i), s = query.scores[i];
    const bool top = level == thresholds.size(), bottom = level == 0;
    const double upper = top ? 1.0 : falling_logistic(s - thresholds[level]);
    const double lower = bottom ? 0.0 : falling_logistic(s - thresholds[level - 1]);
    sums.force[i] += weight * (upper + lower - 1);
    if (sums.curvature) sums.curvature[i] += weight * (upper * (1 - upper) + lower * (1 - lower));
    const double step = top || bottom ? 0.0 : thresholds[level] - thresholds[level - 1];
    if (sums.cost) {
      double cost = 0;
      if (!top) cost += softplus(s - thresholds[level]);
      if (!bottom) cost += softplus(thresholds[level - 1] - s);
      if (!top && !bottom) cost -= std::log(-std::expm1(-step));
      *sums.cost += weight * cost;
    }
    if (sums.parameter_force) {
      const double between = top || bottom ? 0.0 : 1 / std::expm1(step);
      if (!top) sums.parameter_force[level] += weight * (between + 1 - upper);
      if (!bottom) sums.parameter_force[level - 1] -= weight * (between + lower);
    }
  }
}

// The perceptron's cost of every threshold on the wrong side: with z_k = 1 if label > k and −1 otherwise,
// C = Σ_k max(0, −z_k (s − b_k)), so λ = Σ_k z_k [z_k (s − b_k) ≤ 0]. It has no curvature. [Crammer and Singer 2002]
void prank(const Force&, const ForceQuery& query, ForceScratch&, const ForceSums& sums) {
  const auto thresholds = query.parameters;
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    const auto level = static_cast<std::size_t>(query.labels[i]);
    const double weight = query.weight(i), s = query.scores[i];
    for (std::size_t k = 0; k < thresholds.size(); ++k) {
      const double z = level > k ? 1.0 : -1.0, reached = z * (s - thresholds[k]);
      if (reached > 0) continue;
      sums.force[i] += weight * z;
      if (sums.cost) *sums.cost -= weight * reached;
      if (sums.parameter_force) sums.parameter_force[k] -= weight * z;
    }
  }
}

// Softmax cross entropy over the levels: λ_k = [label = k] − p_k, w_k = p_k (1 − p_k). [McRank]
void multiclass(const Force& force, const ForceQuery& query, ForceScratch&, const ForceSums& sums) {
  const std::size_t classes = force.outputs();
  for (std::size_t i = 0; i < query.labels.size(); ++i) {
    const double* const s = query.scores.data() + i * classes;
    const auto level = static_cast<std::size_t>(query.labels[i]);
    const double weight = query.weight(i), most = *std::max_element(s, s + classes);
    double total = 0;
    for (std::size_t k = 0; k < classes; ++k) total += std::exp(s[k] - most);
    for (std::size_t k = 0; k < classes; ++k) {
      const double p = std::exp(s[k] - most) / total;
      sums.force[i * classes + k] += weight * ((k == level) - p);
      if (sums.curvature) sums.curvature[i * classes + k] += weight * p * (1 - p);
    }
    if (sums.cost) *sums.cost += weight * (most + std::log(total) - s[level]);
  }
}

std::size_t one_per_level(const ForceSpec& spec) {
  return spec.classes;
}

ForceParameters thresholds(const ForceSpec& spec) {
  return ForceParameters({spec.classes - 1, {"threshold", ParameterKind::threshold}});
}

bool always(const ForceSpec&) {
  return true;
}

constexpr ForceKernel rows[] = {
    {.name = "squared", .compute = squared},
    {.name = "ordinal", .compute = ordinal, .parameters = thresholds, .learns = always},
    {.name = "prank", .compute = prank, .parameters = thresholds, .learns = always},
    {.name = "multiclass", .compute = multiclass, .outputs = one_per_level},
};

}  // namespace

std::span<const ForceKernel> point_forces() {
  return rows;
}

}  // namespace podium
