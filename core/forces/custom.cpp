#include <stdexcept>

#include "forces/kernels.hpp"

namespace podium {
namespace {

// It knows scores and labels only, so the query has no document weights and no pairs.
void custom_force(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const CustomForce& custom = force.spec().custom;
  if (!query.weights.empty() || query.has_pairs) {
    throw std::invalid_argument("a custom force acts on scores and labels alone: no document weights, no pairs");
  }
  const std::size_t n = query.scores.size();
  if (n == 0) return;
  const auto count = static_cast<std::int64_t>(n);
  void* const context = custom.context.get();
  scratch.force.assign(n, 0.0), scratch.curvature.assign(n, 0.0);
  custom.compute(context, count, query.scores.data(), query.labels.data(), scratch.force.data(),
                 scratch.curvature.data());
  for (std::size_t i = 0; i < n; ++i) {
    sums.force[i] += scratch.force[i];
    if (sums.curvature) sums.curvature[i] += scratch.curvature[i];
  }
  if (sums.cost && custom.cost) *sums.cost += custom.cost(context, count, query.scores.data(), query.labels.data());
}

constexpr ForceKernel rows[] = {{.name = "custom", .compute = custom_force}};

}  // namespace

std::span<const ForceKernel> custom_forces() {
  return rows;
}

}  // namespace podium
