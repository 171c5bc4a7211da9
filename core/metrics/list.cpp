// Metrics that are any function of the ranked list. A swap of two documents computes the function again.
#include <limits>

#include "metrics/kernels.hpp"

namespace podium {
namespace {

double custom(const MetricSpec& spec, std::size_t n, const double* scores, const double* labels) {
  if (n == 0) return std::numeric_limits<double>::quiet_NaN();
  return spec.custom.value(spec.custom.context.get(), static_cast<std::int64_t>(n), scores, labels);
}

constexpr MetricKernel rows[] = {{.name = "custom", .family = MetricFamily::list, .list = custom}};

}  // namespace

std::span<const MetricKernel> list_kernels() {
  return rows;
}

}  // namespace podium
