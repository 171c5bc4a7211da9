// The sample of documents and columns from which a tree is grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "parallel.hpp"
#include "trees/exchange.hpp"

namespace podium {

// How documents are drawn: with a probability that grows with their force (minimal variance), or uniformly.
enum class Sampling : std::uint8_t { force, uniform };

// The shares of documents, whole queries and columns from which a tree is grown.
struct SampleSettings {
  double row_sampling = 1;
  Sampling sampling = Sampling::force;
  double query_sampling = 1;
  double column_sampling = 1;
};

struct Sample {
  std::size_t count = 0;            // number of documents kept
  std::vector<std::uint32_t> rows;  // the first `count` of them, rising
  std::vector<double> weight;       // of each: 1 / the probability of keeping it; empty: all 1
  std::vector<float> size;          // r of every document, while the sample is drawn
};

// The largest of |force| and of curvature.
struct Extent {
  double force = 0, curvature = 0;
};

// Keeps a document with probability min(1, r/μ), r² = force² + λ·curvature², μ such that the share is met, and gives
// it the weight that makes every sum right on average. [minimal-variance sampling, Ibragimov and Gusev 2019]
// `keys` has one random number per document, `query_keys` one per query; both are mixed with `draw`. `documents` is the
// number of all workers' documents, among which μ is found.
void sample_rows(std::span<const double> force, std::span<const double> curvature, const Extent& largest,
                 const SampleSettings& settings, std::span<const std::uint64_t> keys,
                 std::span<const std::uint64_t> query_keys, std::span<const std::int64_t> query_offsets,
                 std::uint64_t draw, Sample& out, Exchange* exchange, std::size_t documents, int num_threads);

// The share of the columns with the smallest draws, rising.
std::vector<std::uint32_t> sample_columns(std::span<const std::uint32_t> features, double share, std::uint64_t draw);

}  // namespace podium
