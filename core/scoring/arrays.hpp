// The trees of a model as they are kept in files, and the features that they score.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/bins.hpp"

namespace podium {

// All trees one after another. A child is the number of a node of the same tree, larger than its parent's, or ~leaf.
struct ForestArrays {
  std::span<const std::int64_t> node_offsets, leaf_offsets;  // one more than there are trees
  std::span<const std::int32_t> feature;
  std::span<const float> threshold;  // x ≤ threshold goes left
  std::span<const std::int32_t> left, right;
  std::span<const std::uint8_t> missing_left;
  std::span<const std::int32_t> set;                // of a categorical node: which of `sets`; otherwise −1
  std::span<const std::uint64_t> sets;              // four words each, one bit per category
  std::span<const double> value;                    // of leaves
  std::span<const std::int32_t> category_features;  // which features are categorical
  std::span<const std::int64_t> category_offsets;   // one more than there are of those
  std::span<const float> categories;                // rising inside a feature; any other value counts as missing

  std::size_t trees() const { return node_offsets.size() - 1; }
};

// The nodes and leaves of one tree.
struct TreeSpan {
  TreeSpan(const ForestArrays& arrays, std::size_t t)
      : first_node(static_cast<std::size_t>(arrays.node_offsets[t])),
        nodes(static_cast<std::size_t>(arrays.node_offsets[t + 1]) - first_node),
        first_leaf(static_cast<std::size_t>(arrays.leaf_offsets[t])) {}
  std::size_t leaves() const { return nodes + 1; }

  std::size_t first_node, nodes, first_leaf;
};

// Throws std::invalid_argument if the arrays are not a forest over `n_features` features.
void check_forest(const ForestArrays& arrays, std::size_t n_features);

// The known values of the categorical features of a forest.
class CategoryTable {
 public:
  CategoryTable(const ForestArrays& arrays, std::size_t n_features);
  // The categories of a feature, or null if it is a number.
  const FeatureBins* find(std::size_t feature) const {
    return place_[feature] < 0 ? nullptr : &bins_[static_cast<std::size_t>(place_[feature])];
  }

 private:
  std::vector<FeatureBins> bins_;
  std::vector<std::int32_t> place_;  // of each feature in `bins_`, or −1
};

// Features of documents, as they lie in memory: feature f of document i at values[i · row_stride + f · column_stride].
template <class T>
struct ScoreTable {
  const T* values;
  std::size_t rows, features;
  std::ptrdiff_t row_stride, column_stride;

  const T* row(std::size_t i) const { return values + static_cast<std::ptrdiff_t>(i) * row_stride; }
};

}  // namespace podium
