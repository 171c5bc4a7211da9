#include "forces/force.hpp"

#include <utility>

namespace podium {

Force::Force(ForceSpec spec, std::size_t longest) : spec_(std::move(spec)), metric_(spec_.metric, longest) {}

void Force::act(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) const {
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
    case ForceKind::structrank:
      return cdn_force(spec_, query, scratch, sums);
    case ForceKind::squared:
      return squared_force(query, sums);
    case ForceKind::ordinal:
      return ordinal_force(query, sums);
    case ForceKind::multiclass:
      return multiclass_force(spec_.classes, query, sums);
    case ForceKind::own:
      return custom_force(spec_.own, query, scratch, sums);
    default:
      return pair_force(spec_, query, scratch, sums);
  }
}

}  // namespace podium
