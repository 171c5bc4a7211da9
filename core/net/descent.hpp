// Gradient descent: a net is fitted to the forces on its scores, with one update per batch of whole queries or per
// pair.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cache_lines.hpp"
#include "forces/force.hpp"
#include "forces/loop.hpp"
#include "net/net.hpp"
#include "scratch.hpp"

namespace podium {

enum class Optimizer { sgd, adam };

// The training data: features of all documents, and the queries, labels and pairs that forces use.
struct NetTask {
  std::span<const float> features;
  InputMap map;
  ForceTable table;  // its scores are not used
};

struct DescentOptions {
  Optimizer optimizer = Optimizer::sgd;
  double rate = 0.001;
  double l2 = 0;          // ½·l2·‖weights‖² is added to the mean cost of a query
  std::size_t batch = 1;  // queries per update; with per_pair, 0 makes one update per pair
  bool per_pair = false;  // documents pass through the net again for each of their pairs
  bool cost = false;      // whether to sum the cost
  std::uint64_t seed = 0, round = 0;
};

class Descent {
 public:
  Descent(const DenseNet& net, const Force& force, const NetTask& task, int num_threads);

  // The learned numbers: the net's, then the free numbers of the force's own parameters.
  std::size_t size() const { return net_.size() + own_; }
  void set_parameters(std::span<const double> given);
  void get_parameters(double* given) const { give(parameters_, given); }
  void set_moments(std::span<const double> first, std::span<const double> second, std::uint64_t updates);
  void get_moments(double* first, double* second) const { give(first_, first), give(second_, second); }
  std::uint64_t updates() const { return updates_; }

  // Makes one pass over queries in this order. `seen` receives each document's scores before its update, or is null.
  // Returns the sum of the queries' costs if it is asked for.
  double pass(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen);
  // The sums over queries of the cost and of force · ∂s/∂parameter, the negative gradient. The second is added to what
  // `sums` holds.
  double gradient(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen, double* sums);

  // What workers do that each hold some of the queries of an update. The sum over queries is that of `gradient` if the
  // queries of a chunk are added one by one in their order, and a query that is a chunk of its own is added to the sum
  // so far by `gradient`.

  // The ends of the chunks that queries with so many documents make up.
  std::vector<std::size_t> chunk_ends(std::span<const std::size_t> documents) const;
  // Cost and negative gradient of each query, for nets with `adds_queries`.
  void query_gradients(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen,
                       double* costs, double* gradients);
  // Whether the gradient of a chunk is the sum of those of its queries: it is not for large nets, whose sums go on from
  // document to document.
  bool adds_queries() const { return is_small(); }
  // Makes one update, given the sum over so many queries.
  void apply(std::span<const double> sum, std::size_t queries, const DescentOptions& options);

 private:
  // Working memory of the thread that has a query: all but large nets need a batch of their own.
  struct QueryScratch {
    ForceScratch force;
    std::vector<double> pushes;
    std::optional<NetBatch> batch;
  };

  void give(const LineVector<double>& held, double* given) const;
  void hold(std::span<const double> given, LineVector<double>& held) const;
  void read_force_parameters();
  double absorb(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen);
  void absorb_chunk(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen);
  void absorb_small(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen);
  void push_small(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen);
  template <class Documents>
  std::size_t chunk_end(std::size_t begin, std::size_t queries, Documents&& documents) const;
  void start_chunk(std::size_t queries);
  bool is_small() const;
  void push_query(std::size_t query, std::size_t k, double* scores, QueryScratch& scratch,
                  const DescentOptions& options, double* seen);
  double add_costs(std::size_t queries);
  std::size_t first_row(std::size_t query) const { return static_cast<std::size_t>(task_.table.query_offsets[query]); }
  const float* features_of(std::int64_t query) const;
  const float* features_after(const std::int64_t* query, std::size_t threads) const;
  double absorb_pair(std::size_t query, const GivenPair& pair, bool given, const DescentOptions& options);
  double absorb_pairs(std::span<const std::int64_t> queries, const DescentOptions& options, double* seen);
  template <class Visit>
  void each_pair(std::size_t query, Visit&& visit) const;
  void score_query(std::size_t query, double* seen);
  void update(double share, const DescentOptions& options);

  DenseNet net_;
  Force force_;
  std::size_t own_;  // parameters of the force that are learned
  NetTask task_;
  int num_threads_;
  NetBatch batch_;
  ScratchPool<QueryScratch> scratches_;
  ForceScratch pair_scratch_;
  LineVector<double> parameters_, gradient_, first_, second_;
  std::vector<double> force_values_, force_on_values_, cost_;
  LineVector<double> query_gradients_;  // of all but large nets
  std::vector<std::size_t> begin_;
  std::uint64_t updates_ = 0;
  const std::int64_t* end_ = nullptr;  // of the queries of the pass
};

}  // namespace podium
