#include "forces/loop.hpp"

#include <algorithm>

#include "parallel.hpp"
#include "scratch.hpp"

namespace podium {

std::size_t ForceTable::longest() const {
  std::size_t most = 0;
  for (std::size_t q = 0; q < queries(); ++q) most = std::max(most, documents(q));
  return most;
}

ForceQuery ForceTable::query(std::size_t q, std::size_t outputs) const {
  return query(q, scores.subspan(static_cast<std::size_t>(query_offsets[q]) * outputs, documents(q) * outputs));
}

ForceQuery ForceTable::query(std::size_t q, std::span<const double> scores_of_q) const {
  const auto begin = static_cast<std::size_t>(query_offsets[q]);
  const std::size_t n = documents(q);
  ForceQuery out;
  out.scores = scores_of_q;
  out.labels = labels.subspan(begin, n);
  if (!document_weights.empty()) out.weights = document_weights.subspan(begin, n);
  out.has_pairs = !pair_offsets.empty();
  if (out.has_pairs) {
    const auto first = static_cast<std::size_t>(pair_offsets[q]), last = static_cast<std::size_t>(pair_offsets[q + 1]);
    out.pairs = pairs.subspan(first, last - first);
  }
  if (!join_offsets.empty()) {
    const auto first = static_cast<std::size_t>(join_offsets[q]), last = static_cast<std::size_t>(join_offsets[q + 1]);
    out.joins = joins.subspan(first, last - first);
  }
  if (!noise_scales.empty()) out.noise_scales = noise_scales.subspan(begin, n);
  const std::size_t inputs = labels.empty() ? 0 : noise_inputs.size() / labels.size();
  out.noise_inputs = noise_inputs.subspan(begin * inputs, n * inputs);
  out.parameters = parameters;
  if (described && !described->facts.empty()) {
    out.facts = described->facts.data() + q, out.by_level = described->by_level.data() + begin;
  }
  out.seed = seed, out.round = round;
  out.key = query_keys.empty() ? q : query_keys[q];
  return out;
}

bool all_finite(std::span<const double> scores) {
  std::int64_t found = 0;  // as wide as a score, so that the loop is vectorized
  for (const double score : scores) found += !(score - score == 0);
  return found == 0;
}

void apply_force(const Force& force, const ForceTable& table, int num_threads, const ForceSums& out) {
  const std::size_t outputs = force.outputs(), parameters = table.parameters.size();
  ScratchPool<ForceScratch> scratches;
  parallel_for(table.queries(), num_threads, 16, [&](std::size_t begin, std::size_t end) {
    const ScratchPool<ForceScratch>::Loan loan(scratches);
    ForceScratch& scratch = *loan;
    for (std::size_t q = begin; q < end; ++q) {
      const std::size_t first = static_cast<std::size_t>(table.query_offsets[q]) * outputs;
      const std::size_t count = table.documents(q) * outputs;
      ForceSums sums{out.force + first};
      if (out.curvature) sums.curvature = out.curvature + first;
      if (out.cost) sums.cost = out.cost + q;
      if (out.parameter_force) sums.parameter_force = out.parameter_force + q * parameters;
      std::fill_n(sums.force, count, 0.0);
      if (sums.curvature) std::fill_n(sums.curvature, count, 0.0);
      if (sums.cost) *sums.cost = 0;
      if (sums.parameter_force) std::fill_n(sums.parameter_force, parameters, 0.0);
      force.compute(table.query(q, outputs), scratch, sums);
      const double weight = table.query_weight(q);
      if (weight == 1.0) continue;
      for (std::size_t i = 0; i < count; ++i) sums.force[i] *= weight;
      if (sums.curvature) std::for_each_n(sums.curvature, count, [&](double& c) { c *= weight; });
      if (sums.cost) *sums.cost *= weight;
      if (sums.parameter_force) std::for_each_n(sums.parameter_force, parameters, [&](double& c) { c *= weight; });
    }
  });
}

}  // namespace podium
