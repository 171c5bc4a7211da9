#include "trees/shap.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "parallel.hpp"
#include "trees/quadrature.hpp"

namespace podium {
namespace {

constexpr std::size_t kRows = 256;  // documents for which the tables of a tree are used at once
constexpr std::size_t kLanes = 2;   // the number of points is a multiple of this

}  // namespace

ForestShap::ForestShap(const ForestArrays& arrays, std::span<const std::int64_t> documents, std::size_t n_features,
                       std::size_t outputs)
    : n_features_(n_features), outputs_(outputs), value_(arrays.value.begin(), arrays.value.end()) {
  if (outputs == 0) throw std::invalid_argument("a forest needs at least one output");
  check_forest(arrays, n_features);
  if (documents.size() != value_.size() ||
      std::any_of(documents.begin(), documents.end(), [](std::int64_t count) { return count < 0; })) {
    throw std::invalid_argument("a leaf needs a number of training documents, at least 0");
  }
  for (std::size_t k = 0; k < arrays.sets.size(); k += 4) {
    sets_.push_back({arrays.sets[k], arrays.sets[k + 1], arrays.sets[k + 2], arrays.sets[k + 3]});
  }
  for (std::size_t k = 0; k < arrays.category_features.size(); ++k) {
    FeatureBins bins;
    bins.categorical = true;
    bins.cuts.assign(arrays.categories.begin() + arrays.category_offsets[k],
                     arrays.categories.begin() + arrays.category_offsets[k + 1]);
    categories_.push_back(std::move(bins));
  }
  expected_.assign(outputs, 0.0);
  nodes_.reserve(arrays.feature.size());
  edges_.reserve(2 * arrays.feature.size());
  for (std::size_t t = 0; t < arrays.trees(); ++t) compile(arrays, documents, t);
}

void ForestShap::compile(const ForestArrays& a, std::span<const std::int64_t> documents, std::size_t tree) {
  const auto first = static_cast<std::size_t>(a.node_offsets[tree]);
  const auto leaf = static_cast<std::size_t>(a.leaf_offsets[tree]);
  const std::size_t count = static_cast<std::size_t>(a.node_offsets[tree + 1]) - first;
  std::vector<double> covered(count), mean(count);
  const auto of = [&](std::int32_t child, const std::vector<double>& nodes, const auto& leaves) {
    return child >= 0 ? nodes[static_cast<std::size_t>(child)]
                      : static_cast<double>(leaves[leaf + static_cast<std::size_t>(~child)]);
  };
  std::vector<Edge> edges(2 * count);
  for (std::size_t n = count; n-- > 0;) {
    const std::int32_t children[] = {a.left[first + n], a.right[first + n]};
    covered[n] = of(children[0], covered, documents) + of(children[1], covered, documents);
    for (std::size_t side = 0; side < 2; ++side) {
      // If no training document reached the node, both sides are equally likely.
      const double share = covered[n] > 0 ? of(children[side], covered, documents) / covered[n] : 0.5;
      edges[2 * n + side] = {-1, children[side], share, share};
      mean[n] += share * of(children[side], mean, value_);
    }
  }
  expected_[tree % outputs_] += count == 0 ? value_[leaf] : mean[0];

  std::vector<std::int32_t> from(count, -1);
  std::vector<std::size_t> distinct(count);  // number of features on the path to a node
  std::size_t most = 1;
  for (std::size_t n = 0; n < count; ++n) {
    const std::int32_t feature = a.feature[first + n];
    std::int32_t above = from[n];
    while (above >= 0 && a.feature[first + static_cast<std::size_t>(above / 2)] != feature) {
      above = from[static_cast<std::size_t>(above / 2)];
    }
    const std::size_t features = distinct[n] + (above < 0 ? 1 : 0);
    most = std::max(most, features);
    for (std::size_t e = 2 * n; e < 2 * n + 2; ++e) {
      edges[e].above = above;
      if (above >= 0) edges[e].kept *= edges[static_cast<std::size_t>(above)].kept;
      if (edges[e].child < 0) continue;
      from[static_cast<std::size_t>(edges[e].child)] = static_cast<std::int32_t>(e);
      distinct[static_cast<std::size_t>(edges[e].child)] = features;
    }
    const auto known = std::find(a.category_features.begin(), a.category_features.end(), feature);
    nodes_.push_back({static_cast<std::uint32_t>(feature), a.threshold[first + n], a.missing_left[first + n] != 0,
                      a.set[first + n], static_cast<std::int32_t>(known - a.category_features.begin()), from[n]});
  }
  edges_.insert(edges_.end(), edges.begin(), edges.end());
  // The integrand has a factor for each feature on the path except one.
  const std::size_t needed = (most + 1) / 2;
  trees_.push_back({first, count, leaf, (needed + kLanes - 1) / kLanes * kLanes});
}

// A leaf of value v gives a document v·Π_j z_j, where z_j, the share of training documents that pass the splits on
// feature j, becomes o_j, whether this document does, once j is known. The Shapley value of feature j is
//   v·(o_j − z_j)·∫₀¹ Π_{k≠j} (z_k + t·(o_k − z_k)) dt   [Owen 1972]
// and the quadrature makes the integral an exact sum of positive terms. A factor depends on the edges above a leaf
// only, so products go down the tree, their sums over leaves come back up, and every edge adds what its factor changes
// over that of the edge above it on the same feature. [Yu et al. 2022, linear tree SHAP]
class TreeAttributor {
 public:
  explicit TreeAttributor(const ForestShap& forest) : forest_(forest) {}

  // Computes the tables of a tree.
  void take(const ForestShap::Member& tree) {
    tree_ = &tree, points_ = tree.points;
    nodes_ = forest_.nodes_.data() + tree.first_node, edges_ = forest_.edges_.data() + 2 * tree.first_node;
    if (rule_.at.size() != points_) rule_ = gauss_legendre(points_);
    const std::size_t size = 2 * tree.nodes * points_;
    for (auto* table : {&on_ratio_, &on_slope_, &off_ratio_, &off_slope_, &sums_}) table->resize(size);
    passes_.resize(2 * tree.nodes);
    for (std::size_t e = 0; e < 2 * tree.nodes; ++e) {
      const double z = edges_[e].kept, before = edges_[e].above < 0 ? 1.0 : edges_[edges_[e].above].kept;
      for (std::size_t q = 0; q < points_; ++q) {
        const double t = rule_.at[q], old = before + t * (1 - before), now = z + t * (1 - z);
        on_ratio_[e * points_ + q] = now / old, on_slope_[e * points_ + q] = (before - z) / (now * old);
        off_ratio_[e * points_ + q] = z * (1 - t) / old, off_slope_[e * points_ + q] = -1 / ((1 - t) * old);
      }
    }
  }

  // Adds what the tree gives to each feature of one document.
  void add(const float* row, double* out) {
    for (std::size_t n = 0; n < tree_->nodes; ++n) {
      const bool left = goes_left(nodes_[n], row);
      const double* product =
          nodes_[n].from < 0 ? rule_.weight.data() : &sums_[static_cast<std::size_t>(nodes_[n].from) * points_];
      go_down(2 * n, left, product);
      go_down(2 * n + 1, !left, product);
    }
    for (std::size_t n = tree_->nodes; n-- > 0;) {
      out[nodes_[n].feature] += gathered(2 * n) + gathered(2 * n + 1);
      if (nodes_[n].from < 0) continue;
      const double *left = &sums_[2 * n * points_], *right = left + points_;
      double* sum = &sums_[static_cast<std::size_t>(nodes_[n].from) * points_];
      for (std::size_t q = 0; q < points_; ++q) sum[q] = left[q] + right[q];
    }
  }

 private:
  bool goes_left(const ForestShap::Node& node, const float* row) const {
    const float value = row[node.feature];
    if (node.set >= 0) {
      return holds(forest_.sets_[static_cast<std::size_t>(node.set)],
                   forest_.categories_[static_cast<std::size_t>(node.categories)].bin(value));
    }
    return std::isnan(value) ? node.missing_left : value <= node.threshold;
  }

  bool passes_above(std::size_t e) const { return edges_[e].above < 0 || passes_[edges_[e].above] != 0; }

  void go_down(std::size_t e, bool passes, const double* product) {
    const ForestShap::Edge& edge = edges_[e];
    passes = passes && passes_above(e);
    passes_[e] = passes;
    const double value =
        edge.child >= 0 ? 1.0 : forest_.value_[tree_->first_leaf + static_cast<std::size_t>(~edge.child)];
    double* to = &sums_[e * points_];
    if (passes_above(e)) {
      const double* ratio = (passes ? on_ratio_ : off_ratio_).data() + e * points_;
      for (std::size_t q = 0; q < points_; ++q) to[q] = product[q] * ratio[q] * value;
    } else {
      const double ratio = edge.share * value;
      for (std::size_t q = 0; q < points_; ++q) to[q] = product[q] * ratio;
    }
  }

  double gathered(std::size_t e) const {
    if (!passes_above(e)) return 0.0;
    const double *sum = &sums_[e * points_], *slope = (passes_[e] ? on_slope_ : off_slope_).data() + e * points_;
    double total[kLanes] = {};
    for (std::size_t q = 0; q < points_; q += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) total[lane] += sum[q + lane] * slope[q + lane];
    }
    return total[0] + total[1];
  }

  const ForestShap& forest_;
  const ForestShap::Member* tree_ = nullptr;
  const ForestShap::Node* nodes_ = nullptr;
  const ForestShap::Edge* edges_ = nullptr;
  std::size_t points_ = 0;
  Quadrature rule_;
  // Of each edge and point, for a document that passes it and for one that does not: the factor, and what the edge adds
  // to its feature for a product of 1.
  std::vector<double> on_ratio_, on_slope_, off_ratio_, off_slope_;
  std::vector<double> sums_;  // products on the way down, their sums over the leaves below on the way up
  std::vector<std::uint8_t> passes_;
};

void ForestShap::attributions(const FeatureTable& table, std::span<double> out, int num_threads) const {
  const std::size_t width = n_features_ + 1;
  const std::size_t most = (table.rows + static_cast<std::size_t>(std::max(num_threads, 1)) - 1) /
                           static_cast<std::size_t>(std::max(num_threads, 1));
  parallel_for(
      table.rows, num_threads, std::clamp<std::size_t>(most, 1, kRows), [&](std::size_t begin, std::size_t end) {
        TreeAttributor attributor(*this);
        std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin * outputs_ * width),
                  out.begin() + static_cast<std::ptrdiff_t>(end * outputs_ * width), 0.0);
        for (std::size_t t = 0; t < trees_.size(); ++t) {
          check_interrupt();
          attributor.take(trees_[t]);
          for (std::size_t row = begin; row < end; ++row) {
            attributor.add(table.values + row * table.features, out.data() + (row * outputs_ + t % outputs_) * width);
          }
        }
        for (std::size_t row = begin * outputs_; row < end * outputs_; ++row) {
          out[row * width + n_features_] = expected_[row % outputs_];
        }
      });
}

}  // namespace podium
