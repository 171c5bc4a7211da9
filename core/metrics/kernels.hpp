// The table of metrics, gathered from the families.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "metrics/spec.hpp"

namespace podium {

// The rows of each family, in the file that computes them.
std::span<const MetricKernel> additive_kernels();
std::span<const MetricKernel> precision_kernels();
std::span<const MetricKernel> cascade_kernels();
std::span<const MetricKernel> pairs_kernels();
std::span<const MetricKernel> list_kernels();

// The metric of this name, or null.
const MetricKernel* find_kernel(std::string_view name);

std::vector<std::string_view> kernel_names();

}  // namespace podium
