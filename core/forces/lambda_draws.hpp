// LambdaRank's force averaged over several orders of the same documents: the changes of the metric are averaged first,
// so that the logistic of a pair is computed once and not once per order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podium {

// A query in the form that the average takes: |ΔZ| of two documents is the difference of their gains times that of the
// weights of their positions, which is 0 from the weights' end on.
struct AveragedQuery {
  std::span<const double> exponential;      // e^(sigma · score) of each document
  std::span<const std::uint32_t> by_level;  // the documents by level, those of a level in their order
  std::span<const std::uint32_t> counts;    // documents of each level, at most 32 levels
  std::span<const double> gain;          // of each level; a higher level with documents has the same or a larger gain
  std::span<const double> weight;        // of the first positions, at most deepest_top; some is above 0
  std::size_t rows = 0;                  // a pair counts if one of the two stands at one of so many positions
  std::span<const std::uint32_t> drawn;  // [orders × weights]: the documents at those positions

  std::size_t documents() const { return exponential.size(); }
  std::size_t orders() const { return weight.empty() ? 0 : drawn.size() / weight.size(); }
};

// Working memory, kept from query to query. Members are the documents that stand at a position with a weight in some
// order. Documents are kept in places: first the members by level, then the others by level; the members, and the
// others of each level, are filled up to whole vectors.
struct AverageScratch {
  std::vector<std::uint8_t> is_other;                       // of each document
  std::vector<std::uint32_t> member, other;                 // the documents that are members, and those that are not
  std::vector<std::uint32_t> place;                         // of each member, by document
  std::vector<double> exponential, gain, force, curvature;  // by place; gains of members only
  std::size_t rows = 0;                                     // of the query that was prepared last
  std::vector<double> given, weight, shares;                // of positions, rounded, and of pairs of them
  std::vector<std::uint32_t> below;                         // of each member, the number of members of lower levels
  std::vector<double> weights;                              // of the positions of members in each order
  std::vector<double> strength, lanes, total, shared;       // of members, and of pairs of them; lanes are 0 in between
};

// force[i] += force_scale · Σ over orders and partners j of ±ρ_ij |ΔZ_ij|, and the same for ρ(1 − ρ)|ΔZ| and curvature,
// which may be null.
void add_averaged(const AveragedQuery& query, AverageScratch& scratch, double force_scale, double curvature_scale,
                  double* force, double* curvature);

}  // namespace podium
