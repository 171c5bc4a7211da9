#include "trees/forest.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include "parallel.hpp"

namespace podium {
namespace {

constexpr std::size_t kTile = Binner::kTile;
constexpr std::size_t kFew = 32;          // documents that walk
constexpr std::size_t kAbreast = 8;       // that walk side by side
constexpr std::size_t kRows = 4 * kTile;  // that go through all trees together

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void check_offsets(std::span<const std::int64_t> offsets, std::size_t last, const char* what) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<std::int64_t>(last) &&
              std::is_sorted(offsets.begin(), offsets.end()),
          what);
}

}  // namespace

Forest::Forest(const ForestArrays& arrays, std::size_t n_features, std::size_t outputs)
    : n_features_(n_features), outputs_(outputs) {
  check(arrays);
  value_.assign(arrays.value.begin(), arrays.value.end());
  threshold_.assign(arrays.threshold.begin(), arrays.threshold.end());
  feature_.assign(arrays.feature.begin(), arrays.feature.end());
  categories_of_.assign(n_features, -1);
  for (std::size_t k = 0; k < arrays.category_features.size(); ++k) {
    categories_of_[static_cast<std::size_t>(arrays.category_features[k])] = static_cast<std::int32_t>(k);
    FeatureBins bins;
    bins.categorical = true;
    bins.cuts.assign(arrays.categories.begin() + arrays.category_offsets[k],
                     arrays.categories.begin() + arrays.category_offsets[k + 1]);
    category_bins_.push_back(std::move(bins));
  }
  compile(arrays);
}

void Forest::check(const ForestArrays& a) const {
  const std::size_t nodes = a.feature.size(), trees = a.node_offsets.size() - 1, sets = a.sets.size() / 4;
  require(outputs_ > 0, "a forest needs an output");
  require(a.threshold.size() == nodes && a.left.size() == nodes && a.right.size() == nodes &&
              a.missing_left.size() == nodes && a.set.size() == nodes && a.sets.size() % 4 == 0,
          "the arrays of nodes differ in length");
  check_offsets(a.node_offsets, nodes, "node_offsets");
  check_offsets(a.leaf_offsets, a.value.size(), "leaf_offsets");
  require(a.leaf_offsets.size() == trees + 1, "node_offsets and leaf_offsets differ in length");
  check_offsets(a.category_offsets, a.categories.size(), "category_offsets");
  require(a.category_offsets.size() == a.category_features.size() + 1, "category_offsets");
  std::vector<bool> categorical(n_features_);
  for (const std::int32_t f : a.category_features) {
    require(f >= 0 && static_cast<std::size_t>(f) < n_features_ && !categorical[static_cast<std::size_t>(f)],
            "a categorical feature that is none");
    categorical[static_cast<std::size_t>(f)] = true;
  }
  for (std::size_t k = 0; k + 1 < a.category_offsets.size(); ++k) {
    const auto of = a.categories.subspan(static_cast<std::size_t>(a.category_offsets[k]),
                                         static_cast<std::size_t>(a.category_offsets[k + 1] - a.category_offsets[k]));
    require(of.size() <= kMostBins && std::none_of(of.begin(), of.end(), [](float x) { return std::isnan(x); }) &&
                std::adjacent_find(of.begin(), of.end(), std::greater_equal<>()) == of.end(),
            "the categories of a feature must rise");
  }
  for (const double value : a.value) require(std::isfinite(value), "the value of a leaf is not finite");
  for (std::size_t t = 0; t < trees; ++t) {
    const auto begin = static_cast<std::size_t>(a.node_offsets[t]),
               end = static_cast<std::size_t>(a.node_offsets[t + 1]);
    const auto count = static_cast<std::int64_t>(end - begin);
    const std::int64_t leaves = a.leaf_offsets[t + 1] - a.leaf_offsets[t];
    require(leaves == count + 1, "a tree has as many leaves as nodes and one more");
    std::vector<bool> met(static_cast<std::size_t>(count + leaves));
    const auto meet = [&](std::int32_t child, std::int64_t node) {
      require(child < 0 ? ~child < leaves : child > node && child < count, "a child that is not in its tree");
      const auto at = static_cast<std::size_t>(child < 0 ? count + ~child : child);
      require(!met[at], "a node with two parents");
      met[at] = true;
    };
    for (std::size_t n = begin; n < end; ++n) {
      const auto node = static_cast<std::int64_t>(n - begin);
      meet(a.left[n], node);
      meet(a.right[n], node);
      const std::int32_t f = a.feature[n];
      require(f >= 0 && static_cast<std::size_t>(f) < n_features_, "a node on a feature that is not there");
      require((a.set[n] >= 0) == categorical[static_cast<std::size_t>(f)] && a.set[n] < static_cast<std::int64_t>(sets),
              "a node on categories of a feature that has none");
      require(a.set[n] >= 0 || std::isfinite(a.threshold[n]), "a threshold is not finite");
    }
  }
}

void Forest::compile(const ForestArrays& a) {
  std::vector<std::vector<float>> cuts(n_features_);
  std::vector<bool> split(n_features_);
  for (std::size_t n = 0; n < feature_.size(); ++n) {
    const auto f = static_cast<std::size_t>(feature_[n]);
    split[f] = true;
    if (a.set[n] < 0) cuts[f].push_back(threshold_[n]);
  }
  std::vector<std::uint32_t> column(n_features_);
  for (std::size_t f = 0; f < n_features_; ++f) {
    if (!split[f]) continue;
    FeatureBins bins;
    if (categories_of_[f] >= 0) {
      bins = category_bins_[static_cast<std::size_t>(categories_of_[f])];
    } else {
      std::sort(cuts[f].begin(), cuts[f].end());
      cuts[f].erase(std::unique(cuts[f].begin(), cuts[f].end()), cuts[f].end());
      bins.cuts = cuts[f];
      compact_ = compact_ && bins.bins() <= kMostBins;
    }
    column[f] = static_cast<std::uint32_t>(used_.size());
    used_.push_back(static_cast<std::uint32_t>(f));
    bins_.push_back(std::move(bins));
  }
  for (std::size_t t = 0; t + 1 < a.node_offsets.size(); ++t) {
    Member member{{}, static_cast<std::size_t>(a.node_offsets[t]), static_cast<std::size_t>(a.leaf_offsets[t])};
    for (auto n = member.first_node; n < static_cast<std::size_t>(a.node_offsets[t + 1]); ++n) {
      TreeNode node;
      node.column = column[static_cast<std::size_t>(feature_[n])];
      node.left = a.left[n], node.right = a.right[n], node.missing_left = a.missing_left[n] != 0;
      if (a.set[n] >= 0) {
        require(member.tree.sets.size() < TreeNode::kNoSet, "more sets of categories than a tree can hold");
        node.set = static_cast<std::uint16_t>(member.tree.sets.size());
        BinSet set;
        std::copy_n(a.sets.data() + 4 * static_cast<std::size_t>(a.set[n]), 4, set.begin());
        member.tree.sets.push_back(set);
      } else if (compact_) {
        const auto& rising = bins_[node.column].cuts;
        node.bin =
            static_cast<std::uint8_t>(std::lower_bound(rising.begin(), rising.end(), threshold_[n]) - rising.begin());
      }
      member.tree.nodes.push_back(node);
    }
    trees_.push_back(std::move(member));
  }
  if (compact_) binner_ = Binner(bins_);
}

// Documents through one tree by their values, side by side, so that none waits for memory alone; for few documents,
// which would not fill a block, and for forests with more thresholds than bytes can number.
void Forest::walk(std::size_t t, const float* rows, std::size_t count, std::uint32_t* leaf) const {
  const Member& member = trees_[t];
  const TreeNode* nodes = member.tree.nodes.data();
  const float* thresholds = threshold_.data() + member.first_node;
  const std::int32_t* features = feature_.data() + member.first_node;
  for (std::size_t first = 0; first < count; first += kAbreast) {
    const std::size_t abreast = std::min(kAbreast, count - first);
    std::int32_t at[kAbreast];
    std::fill_n(at, abreast, member.tree.nodes.empty() ? -1 : 0);
    for (bool going = !member.tree.nodes.empty(); going;) {
      going = false;
      for (std::size_t i = 0; i < abreast; ++i) {
        if (at[i] < 0) continue;
        const TreeNode& node = nodes[at[i]];
        const float value = rows[(first + i) * n_features_ + static_cast<std::size_t>(features[at[i]])];
        bool left = std::isnan(value) ? node.missing_left : value <= thresholds[at[i]];
        if (node.categorical()) left = holds(member.tree.sets[node.set], bins_[node.column].bin(value));
        at[i] = left ? node.left : node.right;
        going = going || at[i] >= 0;
      }
    }
    for (std::size_t i = 0; i < abreast; ++i) leaf[first + i] = static_cast<std::uint32_t>(~at[i]);
  }
}

// Calls take(row, count, tree, leaf of each of the rows), trees in their order for each row.
template <class Take>
void Forest::route(const FeatureTable& table, int num_threads, Take&& take) const {
  const std::size_t blocks = (table.rows + kRows - 1) / kRows;
  const bool by_bins = compact_ && table.rows > kFew;
  parallel_for(blocks, num_threads, std::max<std::size_t>(1, std::min<std::size_t>(16, blocks / 8)),
               [&](std::size_t begin, std::size_t end) {
                 BinColumns columns(by_bins ? kRows : 0, used_.size());
                 RouteScratch scratch;
                 std::uint32_t leaf[kTile];
                 for (std::size_t block = begin; block < end; ++block) {
                   const std::size_t first = block * kRows, last = std::min(table.rows, first + kRows);
                   if (by_bins) {
                     for (std::size_t row = first; row < last; row += kTile) {
                       for (std::size_t j = 0; j < used_.size(); ++j) {
                         binner_.bin(table, j, used_[j], row, std::min(kTile, last - row),
                                     columns.column(j) + (row - first));
                       }
                     }
                   }
                   for (std::size_t t = 0; t < trees_.size(); ++t) {
                     for (std::size_t row = first; row < last; row += kTile) {
                       const std::size_t count = std::min(kTile, last - row);
                       if (by_bins) {
                         route_tile(trees_[t].tree, columns, row - first, scratch, leaf);
                       } else {
                         walk(t, table.values + row * table.features, count, leaf);
                       }
                       take(row, count, t, leaf);
                     }
                   }
                 }
               });
}

void Forest::scores(const FeatureTable& table, std::span<double> out, int num_threads) const {
  std::fill(out.begin(), out.end(), 0.0);
  route(table, num_threads, [&](std::size_t row, std::size_t count, std::size_t t, const std::uint32_t* leaf) {
    const double* values = value_.data() + trees_[t].first_leaf;
    double* to = out.data() + row * outputs_ + t % outputs_;
    for (std::size_t i = 0; i < count; ++i) to[i * outputs_] += values[leaf[i]];
  });
}

void Forest::leaves(const FeatureTable& table, std::span<std::int32_t> out, int num_threads) const {
  route(table, num_threads, [&](std::size_t row, std::size_t count, std::size_t t, const std::uint32_t* leaf) {
    for (std::size_t i = 0; i < count; ++i) {
      out[(row + i) * trees_.size() + t] = static_cast<std::int32_t>(leaf[i]);
    }
  });
}

}  // namespace podium
