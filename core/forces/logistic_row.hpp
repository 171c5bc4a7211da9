// One document against those after it, by the logistic: four pairs at a time, without an exponential for any of them.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "dispatch.hpp"

namespace podium {

// Pairs of one row. With E = e^{σ s}, ρ_ij = 1 / (1 + e^{σ(s_i − s_j)}) = E_j / (E_i + E_j).
struct LogisticRow {
  const double* label;
  const double* exponential;
  const double* weight;  // of the pair with each j; its sign does not count
  double* force;         // σ is left out of both
  double* curvature;     // or null
  double* total;         // Σ |force| over pairs; or null
};

// The sums of document i itself over a row, in four lanes.
struct LogisticLanes {
  double force[4] = {0, 0, 0, 0}, curvature[4] = {0, 0, 0, 0}, total[4] = {0, 0, 0, 0};
};

template <bool kCurvature>
PODIUM_INLINE void logistic_pair(std::size_t i, std::size_t j, double scale, const LogisticRow& row,
                                 LogisticLanes& lanes, std::size_t lane) {
  if (row.label[i] == row.label[j]) return;
  const double weight = std::fabs(row.weight[j]) * scale;
  const double share = row.exponential[j] / (row.exponential[i] + row.exponential[j]);
  const double pull = row.label[i] > row.label[j] ? weight * share : 0.0 - weight * (1 - share);
  row.force[j] -= pull;
  lanes.force[lane] += pull;
  lanes.total[lane] += std::fabs(pull);
  if constexpr (kCurvature) {
    const double bend = weight * share * (1 - share);
    row.curvature[j] += bend;
    lanes.curvature[lane] += bend;
  }
}

template <bool kCurvature>
PODIUM_INLINE void add_lanes(std::size_t i, const LogisticLanes& lanes, const LogisticRow& row) {
  const auto sum = [](const double (&lane)[4]) { return (lane[0] + lane[1]) + (lane[2] + lane[3]); };
  if (row.total) *row.total += sum(lanes.total);
  row.force[i] += sum(lanes.force);
  if constexpr (kCurvature) row.curvature[i] += sum(lanes.curvature);
}

// Adds the pairs (i, j), j from `begin` to n: to the force and curvature of i and of every j. Sums of i are kept in
// four lanes, j in the lane (j − begin) mod 4, and the lanes are added as a tree: one order on every machine.
template <bool kCurvature>
PODIUM_INLINE void logistic_row(std::size_t i, std::size_t begin, std::size_t n, double scale, const LogisticRow& row) {
  typedef double Four __attribute__((vector_size(32)));
  typedef std::int64_t Mask __attribute__((vector_size(32)));
  const double label = row.label[i], own = row.exponential[i];
  std::size_t j = begin;
  Four f = {0, 0, 0, 0}, c = {0, 0, 0, 0}, t = {0, 0, 0, 0};
  const Four one = {1, 1, 1, 1}, zero = {0, 0, 0, 0};
  const Mask magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  for (; j + 4 <= n; j += 4) {
    Four l, e, g;
    Mask w;
    std::memcpy(&l, row.label + j, sizeof l);
    std::memcpy(&e, row.exponential + j, sizeof e);
    std::memcpy(&w, row.weight + j, sizeof w);
    w &= magnitude;
    Four weight;
    std::memcpy(&weight, &w, sizeof weight);
    weight *= scale;
    const Four share = e / (own + e);
    const Mask above = label > l, below = label < l;
    const Four up = weight * share, down = zero - weight * (one - share);
    const Four pull = above ? up : (below ? down : zero);
    std::memcpy(&g, row.force + j, sizeof g);
    g -= pull;
    std::memcpy(row.force + j, &g, sizeof g);
    f += pull;
    t += above ? pull : zero - pull;
    if constexpr (kCurvature) {
      const Four bend = (above | below) ? weight * share * (one - share) : zero;
      std::memcpy(&g, row.curvature + j, sizeof g);
      g += bend;
      std::memcpy(row.curvature + j, &g, sizeof g);
      c += bend;
    }
  }
  LogisticLanes lanes;
  std::memcpy(lanes.force, &f, sizeof f);
  std::memcpy(lanes.curvature, &c, sizeof c);
  std::memcpy(lanes.total, &t, sizeof t);
  for (std::size_t lane = 0; j < n; ++j, ++lane) logistic_pair<kCurvature>(i, j, scale, row, lanes, lane);
  add_lanes<kCurvature>(i, lanes, row);
}

// The same sums if all pairs but those with `partners`, which rise from `begin` on, have weight 0. Weights of others
// are not read.
template <bool kCurvature>
PODIUM_INLINE void logistic_partners(std::size_t i, std::size_t begin, std::span<const std::uint32_t> partners,
                                     double scale, const LogisticRow& row) {
  LogisticLanes lanes;
  for (const std::uint32_t j : partners) logistic_pair<kCurvature>(i, j, scale, row, lanes, (j - begin) % 4);
  add_lanes<kCurvature>(i, lanes, row);
}

}  // namespace podium
