// A cumulative distribution network over the preferences of a query. [StructRank, NIPS 2008]
//
// C = Σ v_e v_e′ log(1 + e^t + e^τ) over ordered pairs of different preferences (edges) e and e′, where t = −w₁ r_e,
// τ = −w₂ r_e′, r is the gap in scores of an edge and v its weight. With c = log(1 + e^τ) a term is c + log(1 + e^{t −
// c}), which no score overflows. It slopes by q = 1 / (1 + e^{c − t}) in t, and by q′ = (1 − q) e^{τ − c} in τ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "forces/force_parameters.hpp"

namespace podium {

enum class CdnTopology { full, independent, random };
enum class CdnMethod { automatic, exact, chebyshev };

struct CdnSpec {
  CdnTopology topology = CdnTopology::full;
  bool tied = false;           // w₂ is w₁
  bool learns = true;          // whether gradient steps move the parameters
  std::vector<double> values;  // of the parameters, where a call gives none
  std::size_t partners = 5;    // random: of each edge, in each draw
  bool mean = true;            // cost divided by the weight of its terms; else their plain sum
  CdnMethod method = CdnMethod::automatic;

  // Whether the second preference of a pair has a steepness of its own.
  bool has_w2() const { return !tied && topology != CdnTopology::independent; }
  ForceParameters parameters() const;
};

struct CdnAsked {
  bool curvature = false, cost = false;
};

// The preferences of one query, and what the sums over partners gave for each.
struct CdnEdges {
  std::vector<std::uint32_t> winner, loser;
  std::vector<double> gap, weight;              // r, v
  std::vector<double> t, tau, c, rise, fall;    // rise = e^{τ − c}, the logistic of τ; fall = e^{−c} = 1 − rise
  std::vector<double> first, second;            // Σ v′ q as the first of a pair, Σ v q′ as the second
  std::vector<double> first_bend, second_bend;  // Σ v′ q (1 − q), Σ v q′ (1 − q′)
  std::vector<double> shared;  // of each document: Σ ± v v′ q q′ over pairs of its edges, + where it wins or loses both
  double cost = 0;

  std::size_t size() const { return winner.size(); }
  void resize(std::size_t count);
  // t, τ and all that follows from them; sums begin at 0.
  void prepare(double w1, double w2, std::size_t documents, CdnAsked asked);
};

// One term: what it needs of t − c. `rest` is 1 − q, and not its rounding.
struct CdnTerm {
  double q, rest, fade;  // fade = e^{−|t − c|}

  explicit CdnTerm(double distance) : CdnTerm(distance, std::exp(-std::fabs(distance))) {}
  CdnTerm(double distance, double fade_) : fade(fade_) {
    const double large = 1 / (1 + fade), small = fade * large;
    q = distance >= 0 ? large : small, rest = distance >= 0 ? small : large;
  }
  // log(1 + e^{t − c})
  double softplus(double distance) const { return std::max(distance, 0.0) + std::log1p(fade); }
};

// The edges that each document is in, one after the other: numbers `edge` from begin[i] to begin[i + 1], with +1 where
// it wins and −1 where it loses.
struct CdnIncidence {
  std::vector<std::uint32_t> begin, edge;
  std::vector<double> sign;
  CdnIncidence(const CdnEdges& edges, std::size_t documents);
};

// Sums over all ordered pairs of edges, added to those of `edges`: term by term, or by interpolation, O(E), to 1e−8.
void cdn_exact(CdnEdges& edges, CdnAsked asked);
void cdn_chebyshev(CdnEdges& edges, CdnAsked asked);

}  // namespace podium
