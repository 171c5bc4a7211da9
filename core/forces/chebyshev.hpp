// Smooth functions of a distance, as polynomials inside pairs of panels of the line, each of width 2.
//
// With x and y from −1 to 1 inside their panels, f(2 apart + x − y) = Σ K_km T_k(x) T_m(y), T the Chebyshev
// polynomials. K depends on the function and on how far the panels are apart, so it is tabulated once.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <numbers>

#include "dispatch.hpp"
#include "forces/cdn.hpp"
#include "unreachable.hpp"

namespace podium {

inline constexpr std::size_t kNodes = 12;  // errors fall as 6.4^−nodes: the poles of a term lie π off the line
inline constexpr int kNear = 10;           // panels up to this far apart meet by polynomials
inline constexpr int kSeen = 370;          // panels this far apart do not see each other at all: e^{−740} is 0
using Series = std::array<double, kNodes>;
typedef double Four __attribute__((vector_size(32)));

// A series in T_0 … T_11, or those polynomials at a place.
struct Lanes {
  Four part[kNodes / 4];
};

PODIUM_INLINE Four load_four(const double* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
PODIUM_INLINE Lanes load(const double* from) {
  return {{load_four(from), load_four(from + 4), load_four(from + 8)}};
}
PODIUM_INLINE void store(double* to, const Lanes& series) {
  for (std::size_t p = 0; p < kNodes / 4; ++p) std::memcpy(to + 4 * p, &series.part[p], sizeof(Four));
}
PODIUM_INLINE void add(Lanes& to, const Lanes& series, double times) {
  for (std::size_t p = 0; p < kNodes / 4; ++p) to.part[p] += times * series.part[p];
}
PODIUM_INLINE double sum(Four lanes) {
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}
PODIUM_INLINE double dot(const Lanes& a, const Lanes& b) {
  return sum((a.part[0] * b.part[0] + a.part[1] * b.part[1]) + a.part[2] * b.part[2]);
}

// T_0 … T_11 at x, from T_{k + 4} = 2 T_4 T_k − T_{|k − 4|}.
PODIUM_INLINE Lanes polynomials(double x) {
  const double two = 2 * x * x - 1, three = (2 * two - 1) * x, four = 2 * two * two - 1;
  const Four low = {1, x, two, three}, below = {four, three, two, x}, step = {2 * four, 2 * four, 2 * four, 2 * four};
  Lanes out;
  out.part[0] = low, out.part[1] = step * low - below, out.part[2] = step * out.part[1] - low;
  return out;
}

enum Kernel { kValue, kSlope, kBend };  // log(1 + e^d), its first and its second derivative

inline double kernel(Kernel which, double distance) {
  const CdnTerm term(distance);
  switch (which) {
    case kValue:
      return term.softplus(distance);
    case kSlope:
      return term.q;
    case kBend:
      return term.q * term.rest;
  }
  unreachable();
}

struct Tables {
  Series pairs[3][2 * kNear + 1][kNodes];  // [kernel][distance of panels][m]: the series over k that goes with T_m
  Series rise, fall;                       // e^x and e^{−x}
  std::array<double, kSeen> fade;          // e^{−2 apart}

  Tables() {
    Series nodes;
    Series transform[kNodes];  // from values at the nodes to the series
    for (std::size_t a = 0; a < kNodes; ++a) {
      nodes[a] = std::cos(std::numbers::pi * (static_cast<double>(a) + 0.5) / kNodes);
      for (std::size_t k = 0; k < kNodes; ++k) {
        const double angle = std::numbers::pi * static_cast<double>(k) * (static_cast<double>(a) + 0.5) / kNodes;
        transform[k][a] = (k == 0 ? 1.0 : 2.0) / kNodes * std::cos(angle);
      }
    }
    const auto series = [&](auto&& value) {
      Series out{};
      for (std::size_t k = 0; k < kNodes; ++k) {
        for (std::size_t a = 0; a < kNodes; ++a) out[k] += transform[k][a] * value(a);
      }
      return out;
    };
    for (int apart = 0; apart < kSeen; ++apart) fade[static_cast<std::size_t>(apart)] = std::exp(-2.0 * apart);
    rise = series([&](std::size_t a) { return std::exp(nodes[a]); });
    fall = series([&](std::size_t a) { return std::exp(-nodes[a]); });
    for (const Kernel which : {kValue, kSlope, kBend}) {
      for (int apart = -kNear; apart <= kNear; ++apart) {
        Series at[kNodes];  // for each node b of the other panel, the series over k
        for (std::size_t b = 0; b < kNodes; ++b) {
          at[b] = series([&](std::size_t a) { return kernel(which, 2.0 * apart + nodes[a] - nodes[b]); });
        }
        for (std::size_t k = 0; k < kNodes; ++k) {
          const Series over_m = series([&](std::size_t b) { return at[b][k]; });
          for (std::size_t m = 0; m < kNodes; ++m) pairs[which][apart + kNear][m][k] = over_m[m];
        }
      }
    }
  }
};

inline const Tables& tables() {
  static const std::unique_ptr<const Tables> held = std::make_unique<Tables>();
  return *held;
}

}  // namespace podium
