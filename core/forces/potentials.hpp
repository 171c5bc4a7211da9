// Potentials of one pair with score gap o = s_winner − s_loser: the force on the winner, the curvature, the cost.
#pragma once

#include <cmath>

namespace podium {

struct Pull {
  double force, curvature, cost;
};

// 1 / (1 + e^x), without overflow.
inline double falling_logistic(double x) {
  if (x >= 0) {
    const double e = std::exp(-x);
    return e / (1 + e);
  }
  return 1 / (1 + std::exp(x));
}

// log(1 + e^x), without overflow.
inline double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// C = −P̄σo + log(1 + e^{σo}). [RankNet]
inline Pull logistic_pull(double o, double sigma, double target) {
  const double rho = falling_logistic(sigma * o);
  const double cost = softplus(sigma * o) - target * sigma * o;
  return {sigma * (target - 1 + rho), sigma * sigma * rho * (1 - rho), cost};
}

// 1 while the order is wrong, δ − o inside the margin, then 0. [Ranking as Function Approximation, eq
// 26–31]
inline Pull spring_pull(double o, double margin) {
  if (o < 0) return {1, 0, -o};
  if (o <= margin) return {margin - o, 1, 0.5 * o * o - margin * o};
  return {0, 0, -0.5 * margin * margin};
}

// max(0, δ − o). [RankSVM]
inline Pull hinge_pull(double o, double margin) {
  return o < margin ? Pull{1, 0, margin - o} : Pull{0, 0, 0};
}

// max(0, δ − o)².
inline Pull squared_hinge_pull(double o, double margin) {
  if (o >= margin) return {0, 0, 0};
  return {2 * (margin - o), 2, (margin - o) * (margin - o)};
}

// ½ (o − gap)²: the difference of two scores should be that of the labels.
inline Pull regression_pull(double o, double gap) {
  return {gap - o, 1, 0.5 * (gap - o) * (gap - o)};
}

// e^{−o} [RankBoost]; below o = −60 it continues as its tangent, so that no score overflows it.
inline constexpr double kSteepest = 60;
inline Pull exponential_pull(double o) {
  if (o < -kSteepest) {
    const double e = std::exp(kSteepest);
    return {e, 0, e * (1 - kSteepest - o)};
  }
  const double e = std::exp(-o);
  return {e, e, e};
}

}  // namespace podium
