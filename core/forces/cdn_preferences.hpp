// The preferences of a query one by one, and the noise of its documents.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "forces/cdn.hpp"
#include "forces/force.hpp"
#include "interrupt.hpp"

namespace podium {

// body(winner, loser, weight) for every preference of the query. One that holds with a probability is two, one each
// way. Those of labels come winner by winner.
template <class Body>
void for_each_edge(const ForceQuery& query, std::vector<std::uint32_t>& order, Body&& body) {
  const auto edge = [&](std::size_t winner, std::size_t loser, double weight) {
    weight *= query.weight(winner) * query.weight(loser);
    if (weight > 0 && winner != loser) body(winner, loser, weight);
  };
  if (query.has_pairs) {
    for (const GivenPair& pair : query.pairs) {
      edge(pair.winner, pair.loser, pair.weight * pair.probability);
      edge(pair.loser, pair.winner, pair.weight * (1 - pair.probability));
    }
    return;
  }
  const std::size_t n = query.labels.size();
  order.resize(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return query.labels[a] > query.labels[b]; });
  InterruptPace pace;
  for (std::size_t i = 0, lower = 0; i < n; ++i) {
    while (lower < n && query.labels[order[lower]] == query.labels[order[i]]) ++lower;
    pace.step(n - lower);
    for (std::size_t j = lower; j < n; ++j) edge(order[i], order[j], 1.0);
  }
}

// The noise of a document has the scale that is given times e^{Σ weight · input}, where the exponent counts as at most
// this in size. Scales divide gaps.
inline constexpr double kMostNoise = 10;

inline double noise_exponent(const ForceQuery& query, std::span<const double> weights, std::size_t i) {
  double sum = 0;
  for (std::size_t f = 0; f < weights.size(); ++f) sum += weights[f] * query.noise_inputs[i * weights.size() + f];
  return sum;
}

inline bool has_noise(const ForceQuery& query, std::span<const double> weights) {
  return !query.noise_scales.empty() || !weights.empty();
}

}  // namespace podium
