// A tree over columns of bins, and the routing of documents through it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trees/binned.hpp"

namespace podium {

// A set of bins, one bit each.
using BinSet = std::array<std::uint64_t, 4>;

inline bool holds(const BinSet& set, std::uint8_t bin) {
  return set[bin >> 6] >> (bin & 63) & 1;
}

// Children are numbers of nodes, all larger than their parent's, or ~leaf.
struct TreeNode {
  std::uint32_t column = 0;
  std::int32_t left = -1, right = -1;
  std::uint8_t bin = 0;  // the last one that goes left
  bool missing_left = false;
  std::uint16_t set = kNoSet;  // categorical: the bins that go left

  static constexpr std::uint16_t kNoSet = 0xFFFF;
  bool categorical() const { return set != kNoSet; }
};

// Nodes of a tree, the root first; a tree without nodes is one leaf.
struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<BinSet> sets;
  // Of a symmetric tree, if it is known to be one: level after level, the nodes of each with the same split, and leaves
  // in their order.
  std::uint32_t levels = 0;

  bool goes_left(const TreeNode& node, std::uint8_t bin) const {
    if (node.categorical()) return holds(sets[node.set], bin);
    return bin == kMissingBin ? node.missing_left : bin <= node.bin;
  }
};

// Memory for routing one tile, one per thread.
using RouteScratch = std::vector<std::uint8_t>;

// Writes the leaf of each of the 64 rows from `row` (a multiple of 64) on; rows past the end get one too.
void route_tile(const Tree& tree, const BinColumns& columns, std::size_t row, RouteScratch& scratch,
                std::uint32_t* leaf);

}  // namespace podium
