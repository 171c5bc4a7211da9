// Growing one tree: the most promising leaf is split until there are enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "team.hpp"
#include "trees/binned.hpp"
#include "trees/split.hpp"
#include "trees/tree.hpp"

namespace podium {

struct GrowSettings {
  SplitSettings split;
  std::uint32_t num_leaves = 31;
  std::uint32_t max_depth = std::numeric_limits<std::uint32_t>::max();
  bool depth_wise = false;                   // level by level instead of by gain
  std::vector<std::int8_t> directions;       // of each feature, or empty
  std::size_t histogram_bytes = 512u << 20;  // past this, histograms are thrown away and built again
};

// The rows a tree is grown from, as histograms take them: all of the training documents, or a sample of them.
struct GrowRows {
  struct Block {
    const std::uint8_t* bins;
    std::size_t first, count, stride;  // of `codes`, and bytes a row
  };
  std::vector<Block> blocks;
  std::vector<const Code*> codes;
  std::vector<std::uint8_t> chosen;  // whether each of the data's columns may be split on
  std::size_t rows = 0;
  const Cell* cells = nullptr;              // of each row
  const std::uint32_t* document = nullptr;  // of each row; null: the row's own number
  Cell total = 0;
  Units units;
};

struct GrownLeaf {
  std::uint32_t documents = 0;
  double low = 0, high = 0;  // what its value must lie between
};

struct GrownTree {
  Tree tree;
  std::vector<double> gains;  // of each node
  std::vector<GrownLeaf> leaves;
};

// Room that is kept from tree to tree.
struct GrowRoom {
  std::vector<std::uint32_t> order, spare, gathered;
  std::vector<std::vector<Cell>> slots;  // histograms of a node each
};

// `draw` is what the tree's random numbers are a function of.
GrownTree grow_tree(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                    GrowRoom& room, Team& team);

}  // namespace podium
