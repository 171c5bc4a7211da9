#include "metrics/best_round.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace podium {

std::size_t best_round(std::span<const double> values, std::size_t width, std::size_t first) {
  constexpr double kUnits = 1e11;  // per largest value, to which means are rounded
  double largest = 0;
  for (const double value : values) {
    const double apart = std::fabs(value - values[0]);
    if (std::isnan(apart)) return first;
    largest = std::max(largest, apart);
  }
  if (largest == 0) largest = 1;
  std::vector<double> sums(values.size() + 1);
  for (std::size_t k = 0; k < values.size(); ++k) sums[k + 1] = sums[k] + (values[k] - values[0]) / largest;
  std::size_t best = first;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::size_t k = first - 1; k < values.size(); ++k) {
    const std::size_t half = std::min(width, k), begin = k - half, end = std::min(k + half + 1, values.size());
    const double mean = std::nearbyint((sums[end] - sums[begin]) / static_cast<double>(end - begin) * kUnits) / kUnits;
    if (mean > highest) highest = mean, best = k + 1;
  }
  return best;
}

}  // namespace podium
