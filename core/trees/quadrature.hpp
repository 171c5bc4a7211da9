// Gauss and Legendre's quadrature on (0, 1): exact for polynomials of a degree below twice the number of points.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

namespace podium {

struct Quadrature {
  std::vector<double> at, weight;
};

inline Quadrature gauss_legendre(std::size_t points) {
  Quadrature rule{std::vector<double>(points), std::vector<double>(points)};
  const auto n = static_cast<double>(points);
  for (std::size_t i = 0; 2 * i < points; ++i) {
    double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (n + 0.5)), slope = 1.0;
    for (int step = 0; step < 100; ++step) {
      double before = 1.0, value = x;  // Legendre polynomials of degree k − 1 and k
      for (std::size_t k = 2; k <= points; ++k) {
        const auto degree = static_cast<double>(k);
        const double next = ((2 * degree - 1) * x * value - (degree - 1) * before) / degree;
        before = value, value = next;
      }
      slope = n * (x * value - before) / (x * x - 1);
      const double move = value / slope;
      x -= move;
      if (std::abs(move) < 1e-15) break;
    }
    if (2 * i + 1 == points) x = 0.0;
    rule.at[i] = (1 - x) / 2, rule.at[points - 1 - i] = (1 + x) / 2;
    rule.weight[i] = rule.weight[points - 1 - i] = 1 / ((1 - x * x) * slope * slope);
  }
  return rule;
}

}  // namespace podium
