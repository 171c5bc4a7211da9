#include "forces/force.hpp"

#include <utility>

#include "unreachable.hpp"

namespace podium {

Force::Force(ForceSpec spec, std::size_t longest) : spec_(std::move(spec)), metric_(spec_.metric, longest) {
  switch (spec_.kind) {
    case ForceKind::multiclass:
      outputs_ = spec_.classes;
      break;
    case ForceKind::ordinal:
    case ForceKind::prank:
      parameters_ = ForceParameters({spec_.classes - 1, {"threshold", ParameterKind::threshold}});
      learns_ = true;
      break;
    case ForceKind::structrank:
      parameters_ = spec_.cdn.parameters();
      learns_ = spec_.cdn.learns;
      break;
    case ForceKind::ranknet:
    case ForceKind::lambdarank:
    case ForceKind::spring:
    case ForceKind::step:
    case ForceKind::hinge:
    case ForceKind::squared_hinge:
    case ForceKind::exponential:
    case ForceKind::pairwise_regression:
    case ForceKind::finite_difference:
    case ForceKind::listnet:
    case ForceKind::listmle:
    case ForceKind::xendcg:
    case ForceKind::squared:
    case ForceKind::custom:
      break;
  }
}

void Force::compute(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) const {
  compute_plain(query, scratch, sums);
  if (spec_.alpha == 0) return;
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    const double s = query.scores[i];
    sums.force[i] -= spec_.alpha * s;
    if (sums.curvature) sums.curvature[i] += spec_.alpha;
    if (sums.cost) *sums.cost += 0.5 * spec_.alpha * s * s;
  }
}

void Force::compute_plain(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) const {
  switch (spec_.kind) {
    case ForceKind::lambdarank:
    case ForceKind::step:
      return lambda_force(spec_, metric_, query, scratch, sums);
    case ForceKind::listnet:
      return listnet_force(query, scratch, sums);
    case ForceKind::listmle:
      return listmle_force(query, scratch, sums);
    case ForceKind::xendcg:
      return xendcg_force(query, scratch, sums);
    case ForceKind::finite_difference:
      return finite_difference_force(spec_, metric_, query, scratch, sums);
    case ForceKind::structrank:
      return cdn_force(spec_, query, scratch, sums);
    case ForceKind::squared:
      return squared_force(query, sums);
    case ForceKind::ordinal:
      return ordinal_force(query, sums);
    case ForceKind::prank:
      return prank_force(query, sums);
    case ForceKind::multiclass:
      return multiclass_force(spec_.classes, query, sums);
    case ForceKind::custom:
      return custom_force(spec_.custom, query, scratch, sums);
    case ForceKind::ranknet:
    case ForceKind::spring:
    case ForceKind::hinge:
    case ForceKind::squared_hinge:
    case ForceKind::exponential:
    case ForceKind::pairwise_regression:
      return pair_force(spec_, query, scratch, sums);
  }
  unreachable();
}

}  // namespace podium
