// A force: how each document of one query wants to move. λ_i = −∂C/∂s_i, positive lifts; curvature w_i = ∂²C/∂s_i².
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "forces/cdn.hpp"
#include "forces/cdn_cells.hpp"
#include "forces/force_parameters.hpp"
#include "forces/lambda_labels.hpp"
#include "forces/lambda_top.hpp"
#include "forces/order_sums.hpp"
#include "metrics/metric.hpp"
#include "metrics/ranked.hpp"
#include "metrics/swap.hpp"

namespace podium {

// A force from outside the core: functions of one query of n documents. `compute` writes n forces and n curvatures,
// `cost` gives C and is null where none is declared; both may be called from several threads at once, and may throw.
struct CustomForce {
  void (*compute)(void* context, std::int64_t n, const double* scores, const double* labels, double* force,
                  double* curvature) = nullptr;
  double (*cost)(void* context, std::int64_t n, const double* scores, const double* labels) = nullptr;
  std::shared_ptr<void> context;  // kept for as long as the force may act
};

struct ForceKernel;

struct ForceSpec {
  const ForceKernel* kernel = nullptr;  // a row of the table in kernels.hpp
  double sigma = 1;                     // steepness of the logistic
  double margin = 1;                    // spring, step, hinges
  bool ties = false;                    // ranknet, pairwise_regression: train on pairs of equal labels too
  bool neighbors = false;               // only pairs adjacent in the sorted list
  std::size_t truncation = 0;           // lambdarank: only pairs with one among the first this many; 0: all
  bool normalize = false;        // lambdarank: forces of a query times log₂(1 + S)/S, S = Σ over pairs of 2|force|
  bool damping = false;          // lambdarank: a pair's |ΔZ| is divided by 0.01 + |gap|
  double noise = 0;              // lambdarank: places are those of scores with noise, π/√3 times this
  std::size_t draws = 1;         // of the noise, or of partners; averaged
  double step = 0.5;             // finite_difference: how far a document is moved, as a share of the spread of scores
  bool lower_is_better = false;  // finite_difference: whether the metric should fall
  double alpha = 0;              // adds ½ alpha Σ s² to the cost of a query
  MetricSpec metric = {};        // lambdarank, step, finite_difference
  std::size_t classes = 2;       // ordinal, multiclass: labels 0 to classes − 1
  CdnSpec cdn = {};              // structrank
  CustomForce custom = {};       // custom
};

// A preference given in so many words: documents of the query, by number.
struct GivenPair {
  std::uint32_t winner, loser;
  double probability, weight;
};

// Two preferences of the query that meet, by number.
struct GivenJoin {
  std::uint32_t first, second;
};

struct ForceQuery {
  std::span<const double> scores;           // finite; [documents × outputs] where a force has several outputs
  std::span<const double> labels;           // finite
  std::span<const double> weights;          // of documents, or empty
  std::span<const GivenPair> pairs;         // take the place of labels where has_pairs
  std::span<const double> parameters;       // values of the force's own parameters; structrank has some of its own
  std::span<const GivenJoin> joins;         // structrank, topology given: in the order of for_each_edge
  std::span<const double> noise_scales;     // structrank: of the noise of documents, above 0, or empty
  std::span<const double> noise_inputs;     // structrank: [documents × inputs] of learned noise, or empty
  const LabelFacts* facts = nullptr;        // lambdarank: about the labels, if they are known already
  const std::uint32_t* by_level = nullptr;  // the documents in the order of describe_labels, if facts are given
  bool has_pairs = false;
  std::uint64_t seed = 0, round = 0, key = 0;  // what random draws are a function of

  double weight(std::size_t i) const { return weights.empty() ? 1.0 : weights[i]; }
};

// The sums to which a force adds. All except `force` may be null.
struct ForceSums {
  double* force;
  double* curvature = nullptr;
  double* cost = nullptr;
  double* parameter_force = nullptr;
};

// Working memory of a force, kept from query to query; one per thread.
struct ForceScratch {
  RankedQuery ranked;
  LabelSummary summary;
  SwapDeltas swaps;
  std::vector<double> score, label, weight, exponential, force, curvature, row, extra, noisy;
  std::vector<std::uint32_t> order;
  TopScratch top;
  OrderSums sums;
  CdnEdges cdn, cdn_part;
  CdnCells cells;
};

class Force {
 public:
  // `longest` is the number of documents of the longest query it will see.
  Force(ForceSpec spec, std::size_t longest);

  const ForceSpec& spec() const { return spec_; }
  const Metric& metric() const { return metric_; }
  // Scores per document.
  std::size_t outputs() const { return outputs_; }
  // What it needs of the labels of all queries; it may be nothing.
  LabelTable describe(const ForceTable& table) const;
  // The force's own parameters, and whether gradient steps move them.
  const ForceParameters& parameters() const { return parameters_; }
  bool learns() const { return learns_; }
  // Adds the force of one query to `sums`.
  void compute(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) const;

 private:
  ForceSpec spec_;
  Metric metric_;
  std::size_t outputs_ = 1;
  ForceParameters parameters_;
  bool learns_ = false;
};

}  // namespace podium
