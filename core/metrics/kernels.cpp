#include "metrics/kernels.hpp"

namespace podium {
namespace {

constexpr auto families = {additive_kernels, precision_kernels, cascade_kernels, pairs_kernels, list_kernels};

}  // namespace

const MetricKernel* find_kernel(std::string_view name) {
  for (const auto& family : families) {
    for (const MetricKernel& kernel : family()) {
      if (kernel.name == name) return &kernel;
    }
  }
  return nullptr;
}

std::vector<std::string_view> kernel_names() {
  std::vector<std::string_view> names;
  for (const auto& family : families) {
    for (const MetricKernel& kernel : family()) names.push_back(kernel.name);
  }
  return names;
}

}  // namespace podium
