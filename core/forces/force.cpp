#include "forces/force.hpp"

#include <utility>

#include "forces/kernels.hpp"

namespace podium {

Force::Force(ForceSpec spec, std::size_t longest) : spec_(std::move(spec)), metric_(spec_.metric, longest) {
  const ForceKernel& kernel = *spec_.kernel;
  if (kernel.outputs) outputs_ = kernel.outputs(spec_);
  if (kernel.parameters) parameters_ = kernel.parameters(spec_);
  if (kernel.learns) learns_ = kernel.learns(spec_);
}

LabelTable Force::describe(const ForceTable& table) const {
  return spec_.kernel->describe ? spec_.kernel->describe(spec_, metric_, table) : LabelTable{};
}

void Force::compute(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) const {
  spec_.kernel->compute(*this, query, scratch, sums);
  if (spec_.alpha == 0) return;
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    const double s = query.scores[i];
    sums.force[i] -= spec_.alpha * s;
    if (sums.curvature) sums.curvature[i] += spec_.alpha;
    if (sums.cost) *sums.cost += 0.5 * spec_.alpha * s * s;
  }
}

}  // namespace podium
