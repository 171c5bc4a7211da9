// Growing one tree: the leaf with the largest gain is split until there are enough leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "trees/binned.hpp"
#include "trees/node_histograms.hpp"
#include "trees/rows.hpp"
#include "trees/split.hpp"
#include "trees/tree.hpp"

namespace podium {

// Which leaf is split next: the one with the largest gain; the highest one; or all of a level, by one split.
enum class Growth : std::uint8_t { leaf, depth, symmetric };

struct GrowSettings {
  SplitSettings split;
  std::uint32_t num_leaves = 31;
  std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();
  Growth growth = Growth::leaf;
  std::vector<std::int8_t> monotone;         // constraint of each feature (+1, −1 or 0), or empty
  std::size_t histogram_bytes = 512u << 20;  // beyond this, histograms are discarded and built again
};

// The bounds of the value of a leaf.
struct GrownLeaf {
  double low = 0, high = 0;
};

struct GrownTree {
  Tree tree;
  std::vector<double> gains;  // of each node
  std::vector<GrownLeaf> leaves;
};

// Memory that is kept from tree to tree.
template <class Cell>
struct GrowWorkspace {
  RowOrder order;
  HistogramWorkspace<Cell> histograms;
};

std::vector<ColumnInfo> columns_of(const Binned& data, const GrowSettings& settings);

// The cells of the rows are in the workspace. `draw` is what the tree's random numbers are a function of.
template <class Cell>
GrownTree grow_tree(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                    GrowWorkspace<Cell>& workspace, int num_threads);

}  // namespace podium
