// The best split of the documents of a node, from the histograms of its columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "trees/histogram.hpp"
#include "trees/rounded.hpp"
#include "trees/tree.hpp"

namespace podium {

// T(G) = sign(G)·max(|G| − l1, 0); a leaf gives T(G)/(H + l2), and a split gains
// T(G_L)²/(H_L + l2) + T(G_R)²/(H_R + l2) − T(G)²/(H + l2), G sums of force, H of curvature.
struct SplitSettings {
  double l1 = 0, l2 = 0;
  double min_curvature = 1e-3;  // of each side; above 0
  double min_gain = 0;
  std::uint32_t min_documents = 1;
  double random_strength = 0;      // gains are compared times e^{strength·z}, z normal, drawn for node and column
  bool random_thresholds = false;  // one cut per node and column, drawn uniformly
};

struct Split {
  double gain = 0;      // 0: there is none
  double compared = 0;  // the number by which it was chosen
  std::uint32_t feature = 0, column = 0;
  std::uint8_t bin = 0;  // the last one on the left
  bool missing_left = false, categorical = false;
  BinSet left_bins{};  // categorical
  WideCell left{};

  bool found() const { return gain > 0; }
  bool goes_left(std::uint8_t bin_of) const {
    if (categorical) return holds(left_bins, bin_of);
    return bin_of == kMissingBin ? missing_left : bin_of <= bin;
  }
  // Which of the 256 bins go left.
  std::array<std::uint8_t, 256> left_flags() const {
    std::array<std::uint8_t, 256> flags;
    for (std::size_t b = 0; b < 256; ++b) flags[b] = goes_left(static_cast<std::uint8_t>(b));
    return flags;
  }
};

struct ColumnInfo {
  std::uint32_t feature, column, bins;
  bool missing, categorical;
  std::int8_t monotone;  // +1: the score must not fall as the value rises; −1: it must not rise; 0: no constraint
};

struct NodeInfo {
  WideCell total;
  std::size_t documents;  // of all workers
  std::uint64_t draw;     // the key of its random numbers
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool bounded = false;  // whether any column has a monotone constraint
};

// The value of a leaf, before its bounds are applied.
double leaf_value(double force, double curvature, const SplitSettings& settings);

// The best split of one column. `counts`, if given, are documents by bin, and min_documents is enforced; without them
// it is not. A split that gains less than `rival` need not be found.
template <class Cell>
Split scan_column(const Cell* histogram, const std::int64_t* counts, const ColumnInfo& column, const NodeInfo& node,
                  const SplitSettings& settings, const Units& units, double rival = 0);

// How values are rounded; there is none for some settings.
struct Rounding {
  Rounding(const SplitSettings& settings, const Units& units);
  RoundedNode node(const WideCell& total) const {
    return {static_cast<std::int32_t>(total.force), static_cast<std::int32_t>(total.curvature), min_curvature, l2};
  }

  bool known;
  double unit;  // of rounded values
  std::int32_t min_curvature = 0;
  float l2 = 0;
};

// Bounds of the gains of a node's columns, which take less time than their best splits. By how much they are too large
// depends on the machine, so that they may only choose what is searched.
class GainBounds {
 public:
  GainBounds(const NodeInfo& node, const SplitSettings& settings, const Units& units);

  // A number that no split of the column gains more than; infinity if none is known.
  double of(const NarrowCell* histogram, const ColumnInfo& column) const;
  double of(const WideCell*, const ColumnInfo&) const { return std::numeric_limits<double>::infinity(); }

 private:
  Rounding rounding_;
  double whole_, floor_;  // the value of the node, and the smallest one that counts
  RoundedNode rounded_{};
};

// The value of each cut of a column over many nodes: both sides together, with missing values on the right and on the
// left.
struct CutWorth {
  double right[256], left[256];  // the second only if a value is missing
  bool begun, missing;
};
// The value of a node of so many documents with these sums; 0 if there are too few or their curvature is too small.
double side_worth(const WideCell& total, std::size_t documents, const SplitSettings& settings, const Units& units);
// Adds a node to the values of the cuts of a column. `counts`, if given, are its documents by bin, and sides with too
// few of them have value 0; without them this is not checked.
template <class Cell>
void add_worth(const Cell* histogram, const std::int64_t* counts, const ColumnInfo& column, const WideCell& total,
               const SplitSettings& settings, const Units& units, CutWorth& worth);
// The best of the cuts, compared with the value of the undivided nodes.
Split best_of_cuts(const CutWorth& worth, double whole, const ColumnInfo& column, std::uint64_t draw,
                   const SplitSettings& settings);

// The same with rounded values, which bound the gain of a column in less time.
struct RoundedWorth {
  float right[256], left[256];
  bool begun, missing;
};
void add_worth(const NarrowCell* histogram, const ColumnInfo& column, const RoundedNode& node, RoundedWorth& worth);
// No split of the column gains more over this number of nodes.
Split bound_of_cuts(const RoundedWorth& worth, std::size_t nodes, double whole, const ColumnInfo& column,
                    std::uint64_t draw, const SplitSettings& settings, const Rounding& rounding);

// Returns whether a is preferred to b.
inline bool better(const Split& a, const Split& b) {
  return a.compared > b.compared || (a.compared == b.compared && a.found() && a.feature < b.feature);
}

}  // namespace podium
