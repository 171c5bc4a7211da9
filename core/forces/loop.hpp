// A force over many queries: a parallel loop around the kernel of one, each query owning its slice.
#pragma once

#include <cstdint>
#include <span>

#include "forces/force.hpp"

namespace podium {

struct ForceTable {
  std::span<const double> scores, labels;
  std::span<const std::int64_t> query_offsets;
  std::span<const double> document_weights, query_weights;  // or empty
  std::span<const GivenPair> pairs;                         // sorted by query, documents numbered inside it
  std::span<const std::int64_t> pair_offsets;               // one more than queries, or empty if labels give the pairs
  std::span<const GivenJoin> joins;                         // sorted by query, preferences numbered inside it
  std::span<const std::int64_t> join_offsets;               // one more than queries, or empty
  std::span<const double> noise_scales, noise_inputs;       // of documents, or empty
  std::span<const std::uint64_t> query_keys;                // or empty
  std::span<const double> parameters;
  const LabelTable* described = nullptr;  // by the force that is applied
  std::uint64_t seed = 0, round = 0;

  std::size_t queries() const { return query_offsets.size() - 1; }
  std::size_t documents(std::size_t q) const {
    return static_cast<std::size_t>(query_offsets[q + 1] - query_offsets[q]);
  }
  std::size_t longest() const;
  // The query q; its scores are `outputs` numbers per document.
  ForceQuery query(std::size_t q, std::size_t outputs) const;
  // The query q with scores that stand elsewhere.
  ForceQuery query(std::size_t q, std::span<const double> scores_of_q) const;
  double query_weight(std::size_t q) const { return query_weights.empty() ? 1.0 : query_weights[q]; }
};

// Whether no score is infinite or NaN.
bool all_finite(std::span<const double> scores);

// Writes the force of every document, and where asked for curvature, cost of each query, and the force on each
// parameter from each query [queries × parameters].
void apply_force(const Force& force, const ForceTable& table, int num_threads, const ForceSums& out);

}  // namespace podium
