// Scores of many documents at once: every node of a tree is evaluated on a whole vector of documents.
//
// A block of documents becomes columns of bins, one byte per value. The nodes of a tree are then evaluated from the
// last to the root: the answer of a node is a vector of leaves, blended from the answers of its children by one
// comparison of bytes. No branch depends on the documents. A symmetric tree needs one comparison per level instead of
// one per node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoring/arrays.hpp"
#include "trees/bins.hpp"

namespace podium {

// Documents of one block, and the distance between two of its columns of bins: not a power of two, so that columns do
// not compete for the same cache lines.
inline constexpr std::size_t kBlockRows = 256;
inline constexpr std::size_t kBlockStride = kBlockRows + 64;

// A node as the kernels take it.
struct BlendNode {
  std::uint32_t column;       // where its bins begin in a block
  std::uint16_t left, right;  // answers of its children
  std::uint8_t limit;         // bins up to this one go left, after `shift` was added to them
  std::uint8_t shift;         // 1 if missing values go left: it turns their bin, 255, into 0
  std::uint8_t bit;           // of a symmetric tree: what a document that goes right adds to its leaf
  bool categorical;           // whether the bins that go left are those of a set
  std::uint32_t set;
};

// 256 bits as bytes: bit b mod 8 of byte b / 8 says whether bin b goes left.
using BinSetBytes = std::array<std::uint8_t, 32>;

// The memory that one thread needs to score a block.
class BlendScratch {
 public:
  BlendScratch(std::size_t columns, std::size_t documents);
  std::size_t lanes() const { return lanes_; }  // documents of a vector
  std::uint8_t* bins() { return bins_; }
  std::uint8_t* answers() { return answers_; }

 private:
  std::size_t lanes_;
  std::vector<std::uint8_t> memory_;
  std::uint8_t *bins_, *answers_;
};

// Whether bytes can number the leaves of a tree.
bool fits_blend(const ForestArrays& arrays, std::size_t t);

// Trees that follow one another and have few enough thresholds per feature for bins to be bytes.
class BlendTrees {
 public:
  // Compiles trees from `first` on, all of which must fit, up to `last` or to the first one with which a feature would
  // have too many thresholds; that may be the very first one.
  BlendTrees(const ForestArrays& arrays, const CategoryTable& categories, std::size_t n_features, std::size_t first,
             std::size_t last);

  std::size_t first() const { return first_; }
  std::size_t last() const { return first_ + trees_.size(); }
  std::size_t columns() const { return used_.size(); }
  // How many vectors of comparisons all trees together need, which is what scoring costs.
  std::size_t comparisons() const { return nodes_.size(); }

  // Writes the bins of `count` documents from `row` on, at most a block.
  template <class T>
  void bin(const ScoreTable<T>& table, std::size_t row, std::size_t count, BlendScratch& scratch) const;
  // Adds the values of the leaves of tree t to the scores of the block's documents.
  void add(std::size_t t, std::size_t count, BlendScratch& scratch, double* scores) const;
  // Writes the leaves of the block's documents in tree t, numbered as in the arrays.
  void leaves(std::size_t t, std::size_t count, BlendScratch& scratch, std::int32_t* out, std::size_t stride) const;

 private:
  struct Program {
    std::size_t first_node, nodes, first_leaf, leaves;
    bool symmetric;
  };
  std::size_t choose_columns(const ForestArrays& arrays, const CategoryTable& categories, std::size_t n_features,
                             std::size_t last);
  BlendNode make_node(const ForestArrays& arrays, std::size_t n);
  void compile(const ForestArrays& arrays, const TreeSpan& tree);
  bool compile_symmetric(const ForestArrays& arrays, const TreeSpan& tree);
  template <class Take>
  void route(std::size_t t, std::size_t count, BlendScratch& scratch, Take&& take) const;

  std::size_t first_;
  std::vector<std::uint32_t> used_;       // the feature of each column
  std::vector<std::uint32_t> column_of_;  // of each feature
  std::vector<FeatureBins> bins_;         // of each column
  Binner binner_{{}};
  std::vector<Program> trees_;
  std::vector<BlendNode> nodes_;
  std::vector<BinSetBytes> sets_;
  std::vector<double> values_;         // of leaves, by the numbers that the kernels give them
  std::vector<std::uint8_t> leaf_of_;  // what the arrays call these leaves
};

}  // namespace podium
