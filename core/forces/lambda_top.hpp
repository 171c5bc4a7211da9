// LambdaRank's force for metrics of which only the first ranks count: each of these documents against all others, four
// pairs at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "forces/lambda_draws.hpp"
#include "forces/lambda_labels.hpp"
#include "metrics/metric.hpp"
#include "metrics/order.hpp"

namespace podium {

class Force;
struct ForceQuery;
struct ForceScratch;
struct ForceSums;

// Scores with noise: out[i] = scores[i] + noise · π(u₁ + u₂ + u₃ + u₄ − 2). The sum is bell-shaped and has the variance
// of the logistic, π²/3, by which pairs are compared; it needs no logarithm.
void add_noise(std::span<const double> scores, double noise, std::uint64_t key, double* out);

// Working memory, kept from query to query. Arrays by document or position have room for some more numbers.
struct TopScratch {
  LabelScratch labels;
  LabelFacts facts;
  std::array<double, LabelSummary::small> level_gain;
  OrderScratch counting;
  std::vector<std::uint32_t> order, rising;      // the first documents by rank, and by number
  std::vector<double> exponential, gain, noisy;  // by document
  std::vector<double> ranked_exponential, ranked_gain, weight, force, curvature;  // by position
  std::vector<double> moved_force, moved_curvature;                               // by document
  std::vector<std::uint32_t> by_level;  // the documents in the order of describe_labels
  std::vector<std::uint32_t> drawn;     // the first documents of each draw
  AverageScratch average;
};

// The force of one query. For one draw of the noise it has the bits of the general way, which takes rows of documents
// one after the other and orders documents anew for each draw; what does not depend on the order is computed once here.
class TopLambdas {
 public:
  TopLambdas(const Force& force, const ForceQuery& query, ForceScratch& scratch);

  // Whether the query, metric and settings are of the kind that is computed here.
  bool fits() const { return fits_; }
  // Adds `share` of the force on the `draw`-th of the orders that noise makes, or returns false, having added nothing,
  // if too many scores are equal.
  bool add(std::size_t draw, double share, const ForceSums& sums);
  // Whether the force is averaged over several draws, without a normalization that differs between them.
  bool averages() const { return averages_; }
  // Adds the average of the force over all draws, to rounding.
  void add_average(const ForceSums& sums);

 private:
  bool prepare();
  void prepare_positions(std::span<const double> weights);
  std::span<const double> find_facts();
  std::span<const double> scores_of(std::size_t draw);
  bool order(std::size_t draw);
  void order_first(std::span<const double> scores, std::uint32_t* order);
  void gather();
  double add_pairs();
  void scatter();
  void add_average(std::size_t first, std::size_t last, const ForceSums& sums);  // of some of the draws

  const Force& force_;
  const ForceQuery& query_;
  ForceScratch& all_;
  TopScratch& scratch_;
  const std::size_t n_;
  std::size_t first_ = 0;               // documents that are ordered; the others follow as they are
  std::size_t counted_ = 0, rows_ = 0;  // positions with a weight, and those whose pairs count
  const LabelFacts* facts_ = nullptr;
  std::span<const std::uint32_t> by_level_;
  std::span<const double> weights_;  // of positions, not divided by the norm yet
  std::uint64_t stream_ = 0;         // of random numbers
  bool fits_ = false, zero_ = false, averages_ = false;
};

}  // namespace podium
