#include "forces/kernels.hpp"

namespace podium {
namespace {

constexpr auto families = {pair_forces,    lambda_forces, list_forces,  difference_forces,
                           network_forces, point_forces,  custom_forces};

}  // namespace

const ForceKernel* find_force(std::string_view name) {
  for (const auto& family : families) {
    for (const ForceKernel& kernel : family()) {
      if (kernel.name == name) return &kernel;
    }
  }
  return nullptr;
}

std::vector<std::string_view> force_names() {
  std::vector<std::string_view> names;
  for (const auto& family : families) {
    for (const ForceKernel& kernel : family()) names.push_back(kernel.name);
  }
  return names;
}

}  // namespace podium
