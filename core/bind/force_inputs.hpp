// The data that forces act on, as Python hands it over.
#pragma once

#include <optional>
#include <vector>

#include "bind/bind.hpp"
#include "forces/loop.hpp"

namespace podium::bind {

template <class T>
std::span<const T> as_span(const Vector<T>& values) {
  return {values.data(), values.size()};
}
template <class T>
std::span<const T> as_span(const std::optional<Vector<T>>& values) {
  return values ? as_span(*values) : std::span<const T>();
}

// The data a force acts on, checked in Python; keeps its arrays alive.
struct ForceInputs {
  Vector<double> labels;
  Vector<std::int64_t> query_offsets;
  std::optional<Vector<double>> document_weights, query_weights;
  std::optional<Vector<std::uint64_t>> query_keys;
  std::vector<GivenPair> pairs;
  std::vector<std::int64_t> pair_offsets;
  std::vector<GivenJoin> joins;
  std::vector<std::int64_t> join_offsets;
  std::vector<double> noise_scales, noise_inputs;

  ForceTable table(std::span<const double> scores, std::span<const double> parameters, std::uint64_t seed,
                   std::uint64_t round) const {
    ForceTable out;
    out.scores = scores, out.labels = as_span(labels), out.query_offsets = as_span(query_offsets);
    out.document_weights = as_span(document_weights), out.query_weights = as_span(query_weights);
    out.query_keys = as_span(query_keys);
    out.pairs = pairs, out.pair_offsets = pair_offsets;
    out.joins = joins, out.join_offsets = join_offsets;
    out.noise_scales = noise_scales, out.noise_inputs = noise_inputs;
    out.parameters = parameters, out.seed = seed, out.round = round;
    return out;
  }
};

// A force on the queries of one data set: what depends on neither scores nor rounds is found once. The inputs must be
// kept for as long.
class PreparedForce {
 public:
  PreparedForce(const ForceSpec& spec, const ForceInputs& data)
      : data_(data),
        force_(spec, data.table({}, {}, 0, 0).longest()),
        described_(force_.describe(data.table({}, {}, 0, 0))) {}

  const Force& force() const { return force_; }
  const ForceInputs& data() const { return data_; }
  ForceTable table(std::span<const double> scores, std::span<const double> parameters, std::uint64_t seed,
                   std::uint64_t round) const {
    ForceTable out = data_.table(scores, parameters, seed, round);
    out.described = &described_;
    return out;
  }

 private:
  const ForceInputs& data_;
  const Force force_;
  const LabelTable described_;
};

}  // namespace podium::bind
