// Trained trees as they are kept and as they score: on values, not on the bins of the training documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/bins.hpp"
#include "trees/tree.hpp"

namespace podium {

// All trees one after the other. Children are numbers of nodes of the same tree, larger than their parent's, or ~leaf.
struct ForestArrays {
  std::span<const std::int64_t> node_offsets, leaf_offsets;  // one more than trees
  std::span<const std::int32_t> feature;
  std::span<const float> threshold;  // x ≤ threshold goes left
  std::span<const std::int32_t> left, right;
  std::span<const std::uint8_t> missing_left;
  std::span<const std::int32_t> set;                // categorical: which of `sets`; else −1
  std::span<const std::uint64_t> sets;              // four words each: one bit a category
  std::span<const double> value;                    // of leaves
  std::span<const std::int32_t> category_features;  // rising
  std::span<const std::int64_t> category_offsets;   // one more than those
  std::span<const float> categories;                // rising inside a feature; any other value counts as missing
};

class Forest {
 public:
  // Throws std::invalid_argument where the arrays are not a forest over `n_features` features.
  Forest(const ForestArrays& arrays, std::size_t n_features, std::size_t outputs);

  std::size_t trees() const { return trees_.size(); }
  std::size_t features() const { return n_features_; }
  std::size_t outputs() const { return outputs_; }

  // out[row · outputs + t mod outputs] = the sum of the values of trees t in their order.
  void scores(const FeatureTable& table, std::span<double> out, int num_threads) const;
  // The leaf of every row in every tree, [rows × trees].
  void leaves(const FeatureTable& table, std::span<std::int32_t> out, int num_threads) const;

 private:
  struct Member {
    Tree tree;  // over the columns of `used_`, where `compact_`
    std::size_t first_node, first_leaf;
  };
  void check(const ForestArrays& arrays) const;
  void compile(const ForestArrays& arrays);
  void walk(std::size_t t, const float* rows, std::size_t count, std::uint32_t* leaf) const;
  template <class Take>
  void route(const FeatureTable& table, int num_threads, Take&& take) const;

  std::size_t n_features_, outputs_;
  std::vector<Member> trees_;
  std::vector<double> value_;
  std::vector<float> threshold_;
  std::vector<std::int32_t> feature_;
  std::vector<std::uint32_t> used_;
  std::vector<FeatureBins> bins_;            // of the features in `used_`
  std::vector<std::int32_t> categories_of_;  // of each feature: its place in `category_bins_`, or −1
  std::vector<FeatureBins> category_bins_;
  Binner binner_{{}};    // by which documents become bytes, where `compact_`
  bool compact_ = true;  // at most 254 thresholds a feature, so that bytes can hold the bins
};

}  // namespace podium
