// Scores of few documents, or by trees of many leaves: documents walk from the root to a leaf.
//
// Eight walks go side by side, of one document through eight trees or of eight documents through one tree, so that none
// of them waits for memory alone. A step has no branch: the children of a node are next to each other, and a leaf is
// its own left child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoring/arrays.hpp"

namespace podium {

class WalkTrees {
 public:
  WalkTrees(const ForestArrays& arrays, const CategoryTable& categories, std::size_t n_features);

  // The depths of all trees together, which is what a walk costs.
  std::size_t steps() const { return steps_; }

  // Writes the leaf of one document in every tree, numbered as in the arrays.
  void leaves_of_document(const float* row, std::span<std::uint32_t> leaf) const;
  // Writes the leaf of each of `count` documents in tree t; the features of a document are contiguous.
  void leaves_in_tree(std::size_t t, const float* rows, std::size_t count, std::uint32_t* leaf) const;

 private:
  // A node of a forest of numbers: half the memory of the other kind.
  struct Small {
    float threshold;
    std::uint16_t feature;  // the first bit says whether missing values go right
    std::uint16_t left;     // the right child follows it
  };
  struct Large {
    float threshold;
    std::uint32_t feature;
    std::uint32_t left;
    std::int32_t set;  // of a categorical node; otherwise −1
  };
  struct Walked {
    std::size_t first;  // record of the root
    std::uint32_t tree, depth;
  };
  template <class Record>
  void compile(const ForestArrays& arrays, std::vector<Record>& records);
  template <class Record, class Step>
  void walk_document(const std::vector<Record>& records, std::span<std::uint32_t> leaf, Step step) const;
  template <class Record, class Step>
  void walk_tree(const Record* records, std::size_t first, std::size_t depth, std::size_t count, std::uint32_t* leaf,
                 Step step) const;
  bool goes_right(const Large& record, float value) const;

  std::size_t n_features_, steps_ = 0;
  const CategoryTable& categories_;
  std::vector<std::uint64_t> sets_;
  std::vector<Small> small_;            // either these
  std::vector<Large> large_;            // or these
  std::vector<std::uint32_t> leaf_of_;  // of records
  std::vector<Walked> by_depth_;        // trees, the shallowest first
  std::vector<std::size_t> place_;      // of each tree in `by_depth_`
};

}  // namespace podium
