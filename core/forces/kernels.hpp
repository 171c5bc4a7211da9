// The table of forces in the core, gathered from the families.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "forces/force.hpp"

namespace podium {

// One row. All but `name` and `compute` may be null.
struct ForceKernel {
  std::string_view name;
  // Adds the force of one query to the sums.
  void (*compute)(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums);
  // Scores per document; one if null.
  std::size_t (*outputs)(const ForceSpec& spec) = nullptr;
  // The force's own parameters, and whether gradient steps move them; none if null.
  ForceParameters (*parameters)(const ForceSpec& spec) = nullptr;
  bool (*learns)(const ForceSpec& spec) = nullptr;
  // What it needs of the labels alone; nothing if null.
  LabelTable (*describe)(const ForceSpec& spec, const Metric& metric, const ForceTable& table) = nullptr;
};

// The rows of each family, in the file that computes them.
std::span<const ForceKernel> pair_forces();
std::span<const ForceKernel> lambda_forces();
std::span<const ForceKernel> list_forces();
std::span<const ForceKernel> difference_forces();
std::span<const ForceKernel> network_forces();
std::span<const ForceKernel> point_forces();
std::span<const ForceKernel> custom_forces();

// The force of this name, or null.
const ForceKernel* find_force(std::string_view name);

std::vector<std::string_view> force_names();

// ½ Σ over pairs of (o − (l_i − l_j))², in O(n): the pairs of a query with different labels, or all of them.
void pairwise_regression_force(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch,
                               const ForceSums& sums);
// RankNet's force over the pairs that labels give.
void ranknet_force(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums);

}  // namespace podium
