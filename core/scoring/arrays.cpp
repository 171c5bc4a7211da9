#include "scoring/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

namespace podium {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

void check_offsets(std::span<const std::int64_t> offsets, std::size_t last, const char* what) {
  require(!offsets.empty() && offsets.front() == 0 && offsets.back() == static_cast<std::int64_t>(last) &&
              std::is_sorted(offsets.begin(), offsets.end()),
          what);
}

std::vector<bool> check_categories(const ForestArrays& a, std::size_t n_features) {
  check_offsets(a.category_offsets, a.categories.size(), "category_offsets are not rising positions in categories");
  require(a.category_offsets.size() == a.category_features.size() + 1,
          "category_offsets and category_features differ in length");
  std::vector<bool> categorical(n_features);
  for (const std::int32_t f : a.category_features) {
    require(f >= 0 && static_cast<std::size_t>(f) < n_features && !categorical[static_cast<std::size_t>(f)],
            "a categorical feature does not exist or is listed twice");
    categorical[static_cast<std::size_t>(f)] = true;
  }
  for (std::size_t k = 0; k + 1 < a.category_offsets.size(); ++k) {
    const auto of = a.categories.subspan(static_cast<std::size_t>(a.category_offsets[k]),
                                         static_cast<std::size_t>(a.category_offsets[k + 1] - a.category_offsets[k]));
    require(of.size() <= kMostBins && std::none_of(of.begin(), of.end(), [](float x) { return std::isnan(x); }) &&
                std::adjacent_find(of.begin(), of.end(), std::greater_equal<>()) == of.end(),
            "the categories of a feature must rise");
  }
  return categorical;
}

void check_tree(const ForestArrays& a, std::size_t t, const std::vector<bool>& categorical) {
  const auto begin = static_cast<std::size_t>(a.node_offsets[t]), end = static_cast<std::size_t>(a.node_offsets[t + 1]);
  const auto count = static_cast<std::int64_t>(end - begin);
  const std::int64_t leaves = a.leaf_offsets[t + 1] - a.leaf_offsets[t];
  require(leaves == count + 1, "a tree must have one leaf more than nodes");
  std::vector<bool> met(static_cast<std::size_t>(count + leaves));
  const auto meet = [&](std::int32_t child, std::int64_t node) {
    require(child < 0 ? ~child < leaves : child > node && child < count, "a child is not in its tree");
    const auto at = static_cast<std::size_t>(child < 0 ? count + ~child : child);
    require(!met[at], "a node has two parents");
    met[at] = true;
  };
  const auto sets = static_cast<std::int64_t>(a.sets.size() / 4);
  for (std::size_t n = begin; n < end; ++n) {
    const auto node = static_cast<std::int64_t>(n - begin);
    meet(a.left[n], node);
    meet(a.right[n], node);
    const std::int32_t f = a.feature[n];
    require(f >= 0 && static_cast<std::size_t>(f) < categorical.size(), "a node tests a feature that does not exist");
    require((a.set[n] >= 0) == categorical[static_cast<std::size_t>(f)] && a.set[n] < sets,
            "a node tests categories of a feature that has none");
    require(a.set[n] >= 0 || std::isfinite(a.threshold[n]), "a threshold is not finite");
  }
}

}  // namespace

void check_forest(const ForestArrays& a, std::size_t n_features) {
  const std::size_t nodes = a.feature.size();
  require(a.threshold.size() == nodes && a.left.size() == nodes && a.right.size() == nodes &&
              a.missing_left.size() == nodes && a.set.size() == nodes && a.sets.size() % 4 == 0,
          "the arrays of nodes differ in length");
  check_offsets(a.node_offsets, nodes, "node_offsets are not rising positions in the arrays of nodes");
  check_offsets(a.leaf_offsets, a.value.size(), "leaf_offsets are not rising positions in the array of leaves");
  require(a.leaf_offsets.size() == a.node_offsets.size(), "node_offsets and leaf_offsets differ in length");
  const std::vector<bool> categorical = check_categories(a, n_features);
  for (const double value : a.value) require(std::isfinite(value), "the value of a leaf is not finite");
  for (std::size_t t = 0; t < a.trees(); ++t) check_tree(a, t, categorical);
}

CategoryTable::CategoryTable(const ForestArrays& arrays, std::size_t n_features) : place_(n_features, -1) {
  for (std::size_t k = 0; k < arrays.category_features.size(); ++k) {
    place_[static_cast<std::size_t>(arrays.category_features[k])] = static_cast<std::int32_t>(k);
    FeatureBins bins;
    bins.categorical = true;
    bins.cuts.assign(arrays.categories.begin() + arrays.category_offsets[k],
                     arrays.categories.begin() + arrays.category_offsets[k + 1]);
    bins_.push_back(std::move(bins));
  }
}

}  // namespace podium
