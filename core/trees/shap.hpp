// The contribution of each feature to a document's score: exact Shapley values of trees, in which unknown features are
// averaged over the training documents of a node. [Lundberg et al. 2020, path-dependent tree SHAP]
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoring/arrays.hpp"
#include "trees/tree.hpp"

namespace podium {

class ForestShap {
 public:
  // `documents`: how many training documents fell into each leaf. Throws std::invalid_argument if the arrays are not
  // a forest, or a number is negative.
  ForestShap(const ForestArrays& arrays, std::span<const std::int64_t> documents, std::size_t n_features,
             std::size_t outputs);

  std::size_t features() const { return n_features_; }
  std::size_t outputs() const { return outputs_; }

  // out[row][output][feature], and after the features of each output its expected value.
  void attributions(const FeatureTable& table, std::span<double> out, int num_threads) const;

  struct Node {
    std::uint32_t feature;
    float threshold;
    bool missing_left;
    std::int32_t set;         // of `sets_`, or −1
    std::int32_t categories;  // of `categories_`, if there is a set
    std::int32_t from;        // the edge that leads here, or −1
  };

  // Edges 2n and 2n + 1 lead left and right from node n.
  struct Edge {
    std::int32_t above;  // the next edge towards the root on the same feature, or −1
    std::int32_t child;  // a node, or ~leaf
    double share;        // of its node's documents
    double kept;         // the product of `share` over this edge and those above it on the same feature
  };

  struct Member {
    std::size_t first_node, nodes, first_leaf;
    std::size_t points;  // of the quadrature
  };

 private:
  void compile(const ForestArrays& arrays, std::span<const std::int64_t> documents, std::size_t tree);

  std::size_t n_features_, outputs_;
  std::vector<Member> trees_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<double> value_;
  std::vector<double> expected_;  // of each output
  std::vector<BinSet> sets_;
  std::vector<FeatureBins> categories_;

  friend class TreeAttributor;
};

}  // namespace podium
