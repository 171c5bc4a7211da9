// Boosting: trees that are fitted to forces, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "parallel.hpp"
#include "scratch.hpp"
#include "trees/binned.hpp"
#include "trees/exchange.hpp"
#include "trees/grow.hpp"
#include "trees/sample.hpp"

namespace podium {

struct BoostSettings {
  GrowSettings grow;
  SampleSettings sample;
  double learning_rate = 0.1;
};

// A tree with the values of its leaves.
struct BoostedTree {
  Tree tree;
  std::vector<double> gains;            // of each node
  std::vector<double> values;           // of each leaf, times the learning rate
  std::vector<double> forces;           // Σ force of each leaf
  std::vector<std::int64_t> documents;  // of all training documents, those of other workers included
  std::uint64_t serial = 0;             // of its booster; 0 for a tree that was recalled
};

// The largest absolute force and curvature: the cube of a sum of forces does not overflow.
inline constexpr double kLargestForce = 1e60;

struct ForceRangeError : std::exception {
  const char* what() const noexcept override { return "a force or a curvature that trees cannot take"; }
};

// The training documents in the form that trees use. All results are the same for any number of threads and any order
// of whole queries.
class Booster {
 public:
  // Room for the documents of these queries, whose features are then appended. `share_bytes`: whether columns with few
  // bins share a byte. Then adding is faster and splitting a node's histograms slower, which pays off for many
  // documents. `wide_cell_documents`: from so many documents of all workers on, less than 2^30, a tree is grown with
  // histograms of wide cells. `folder`: where bins are kept in files; if it is empty, they are kept in memory.
  Booster(std::vector<FeatureBins> features, std::span<const std::int64_t> query_offsets,
          std::span<const std::uint64_t> query_keys, bool share_bytes, std::size_t wide_cell_documents,
          std::string folder, int num_threads);
  ~Booster();

  const std::vector<FeatureBins>& features() const { return features_; }
  const std::vector<std::uint32_t>& used() const { return data_.used; }
  std::size_t rows() const { return data_.rows; }
  std::size_t appended() const { return appended_; }

  // Takes the features of the next documents; there must be room for them. Trees are grown once there are all.
  void append(const FeatureTable& table);

  // Grows trees together with other workers from here on, each with some of the queries and the same bins. All
  // documents of this one have been appended, and all workers join before the first tree.
  void join(std::shared_ptr<Exchange> exchange);
  bool joined() const { return exchange_ != nullptr; }
  // The number of training documents of all workers.
  std::size_t documents() const { return documents_; }

  // One tree from force and curvature of every document. Its structure follows the sample, its values all documents.
  // Throws ForceRangeError if a number is not finite or too large, or a curvature negative.
  BoostedTree grow(std::span<const double> force, std::span<const double> curvature, const BoostSettings& settings,
                   std::uint64_t draw);

  // Computes force and curvature of every document for one of several forests, with some threads.
  using FindForce =
      std::function<void(std::size_t forest, int num_threads, std::span<double> force, std::span<double> curvature)>;
  // One tree for each of several forests, which are grown at the same time if there are several threads. The trees are
  // those that `grow` grows one after the other.
  std::vector<BoostedTree> grow_forests(const FindForce& find_force, const BoostSettings& settings,
                                        std::span<const std::uint64_t> draws);

  // Room for other documents under the same bins.
  BinColumns make_columns(std::size_t rows) const { return BinColumns(rows, data_.used.size(), folder_); }
  // Writes the features of some of them, from row `first` on.
  void bin(const FeatureTable& table, std::size_t first, BinColumns& columns) const;
  // scores[i · stride] += scale · value of the leaf of document i.
  void add(const BoostedTree& tree, const BinColumns& columns, double scale, double* scores, std::size_t stride);
  // The same for the training documents.
  void add(const BoostedTree& tree, double scale, double* scores, std::size_t stride);
  // Adds each tree to the training documents' own scores of its forest, and `share` times the tree to `scores`. There
  // may be no own scores.
  void add_step(std::span<const BoostedTree* const> trees, double share, std::span<double* const> own, double* scores);

 private:
  struct Memory;
  class Growing;
  struct Last;
  Last& last(std::size_t forest);
  const Last* last_of(const BoostedTree& tree) const;

  std::vector<FeatureBins> features_;
  int num_threads_;
  std::string folder_;
  std::size_t wide_cell_documents_;
  Binned data_;
  Binner binner_;
  std::size_t appended_ = 0;  // documents so far
  std::size_t documents_;     // of all workers
  std::shared_ptr<Exchange> exchange_;
  std::vector<std::int64_t> query_offsets_;
  std::vector<std::uint64_t> query_keys_, keys_;
  ScratchPool<Memory> memories_;             // as many as trees that are grown at the same time
  std::vector<std::unique_ptr<Last>> last_;  // of each forest
  std::uint64_t grown_ = 0;                  // trees so far
};

}  // namespace podium
