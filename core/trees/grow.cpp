#include "trees/grow.hpp"

#include <algorithm>
#include <utility>

#include "random.hpp"

namespace podium {
namespace {

struct Leaf {
  RowRun run;
  NodeInfo info;
  std::uint32_t depth = 0;
  std::size_t slot = kNoSlot;  // of its histograms
  std::int32_t parent = -1;
  bool is_left = false, counted = false;
  Split split;

  std::size_t rows() const { return run.rows(); }
};

class Growing {
 public:
  Growing(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
          GrowWorkspace& workspace, int num_threads)
      : data_(data),
        work_(rows),
        settings_(settings),
        draw_(draw),
        num_threads_(num_threads),
        columns_(columns_of(data, settings)),
        order_(workspace.order),
        histograms_(rows, columns_, settings.split, settings.histogram_bytes, workspace.histograms, num_threads) {
    order_.start(rows.rows);
  }

  GrownTree run() {
    Leaf root;
    root.run = {0, work_.rows};
    root.info.total = work_.total;
    root.info.documents = static_cast<std::uint32_t>(work_.rows);
    root.info.draw = draw_;
    root.info.bounded =
        std::any_of(columns_.begin(), columns_.end(), [](const ColumnInfo& column) { return column.monotone != 0; });
    if (settings_.num_leaves > 1 && may_split(root)) {
      root.slot = take_slot();
      root.split = histograms_.find_split(rows_of(root), root.info);
    }
    leaves_.push_back(root);
    offer(0);
    while (leaves_.size() < settings_.num_leaves && !heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), [this](std::size_t a, std::size_t b) { return later(a, b); });
      const std::size_t best = heap_.back();
      heap_.pop_back();
      split(best);
    }
    return finished();
  }

 private:
  bool may_split(const Leaf& leaf) const {
    return leaf.depth < settings_.max_depth && leaf.rows() >= 2 &&
           leaf.rows() >= 2 * std::size_t{settings_.split.min_documents};
  }

  // Returns whether leaf a is split after leaf b.
  bool later(std::size_t a, std::size_t b) const {
    const Leaf &first = leaves_[a], &second = leaves_[b];
    if (settings_.growth == Growth::depth && first.depth != second.depth) return first.depth > second.depth;
    if (first.split.gain != second.split.gain) return first.split.gain < second.split.gain;
    return a > b;
  }

  void offer(std::size_t number) {
    if (!leaves_[number].split.found()) return release(leaves_[number]);
    heap_.push_back(number);
    std::push_heap(heap_.begin(), heap_.end(), [this](std::size_t a, std::size_t b) { return later(a, b); });
  }

  // ---- histograms

  std::size_t take_slot() {
    const std::size_t slot = histograms_.take();
    if (slot != kNoSlot) return slot;
    // The leaf with the smallest gain gives up its histograms; if it is split after all, both children are built from
    // rows.
    std::size_t least = heap_.front();
    for (const std::size_t number : heap_) {
      if (leaves_[number].slot != kNoSlot && (leaves_[least].slot == kNoSlot || later(number, least))) least = number;
    }
    return std::exchange(leaves_[least].slot, kNoSlot);
  }

  void release(Leaf& leaf) { histograms_.give(std::exchange(leaf.slot, kNoSlot)); }

  NodeRows rows_of(const Leaf& leaf) const {
    const bool all = leaf.rows() == work_.rows;
    return {all ? nullptr : order_.rows(leaf.run), leaf.rows(), leaf.slot};
  }

  // Builds the smaller child, subtracts it from the parent for the other, and finds the best split of both.
  void look_at(Leaf& small, Leaf& large, std::size_t parent_slot) {
    const bool first = may_split(small), second = may_split(large);
    if (!first && !second) return histograms_.give(parent_slot);
    const bool derived = parent_slot != kNoSlot;
    if (first || derived) small.slot = take_slot();
    if (second) large.slot = derived ? parent_slot : take_slot();
    if (!second) histograms_.give(parent_slot);
    histograms_.build_children(rows_of(small), first ? &small.info : nullptr, small.split, rows_of(large),
                               second ? &large.info : nullptr, large.split, derived);
    if (!first) release(small);
  }

  // Histograms hold no numbers of documents, so they are counted when a leaf is split; if a side has too few, the leaf
  // gets the best split that has enough.
  void count_and_look_again(Leaf& leaf) {
    if (leaf.slot == kNoSlot) {
      leaf.slot = take_slot();
      histograms_.build(rows_of(leaf));
    }
    leaf.split = histograms_.find_split_counted(order_.rows(leaf.run), rows_of(leaf), leaf.info, data_.columns);
    leaf.counted = true;
  }

  // ---- the tree

  void split(std::size_t number) {
    const Split chosen = leaves_[number].split;
    const Parted parted = part(leaves_[number].run, chosen);
    leaves_[number].run.place = parted.place;
    const std::size_t left = parted.left, right = leaves_[number].rows() - left;
    if (std::min(left, right) < settings_.split.min_documents && !leaves_[number].counted) {
      count_and_look_again(leaves_[number]);
      return offer(number);
    }
    const auto node_number = static_cast<std::int32_t>(tree_.nodes.size());
    // If no document of the node lacks the feature, missing values go to the larger child.
    append_node(leaves_[number], chosen, parted.missing > 0 ? chosen.goes_left(kMissingBin) : left > right);
    const std::size_t parent_slot = std::exchange(leaves_[number].slot, kNoSlot);
    Leaf first = child(leaves_[number], node_number, true), second = child(leaves_[number], node_number, false);
    first.run.end = second.run.begin = first.run.begin + left;
    first.info.documents = static_cast<std::uint32_t>(left), second.info.documents = static_cast<std::uint32_t>(right);
    first.info.total = chosen.left, second.info.total -= chosen.left;
    bound(chosen, first, second);
    const std::size_t other = leaves_.size();
    leaves_[number] = first;
    leaves_.push_back(second);
    if (leaves_.size() < settings_.num_leaves) {
      const bool first_smaller = left <= right;
      look_at(leaves_[first_smaller ? number : other], leaves_[first_smaller ? other : number], parent_slot);
      offer(number);
      offer(other);
    }
  }

  Parted part(const RowRun& run, const Split& split) {
    return order_.part(run, data_.columns.column(split.column), work_.document, split.left_flags().data(),
                       num_threads_);
  }

  void append_node(const Leaf& leaf, const Split& chosen, bool missing_left) {
    TreeNode node;
    node.column = chosen.column;
    node.bin = chosen.bin;
    node.missing_left = missing_left;
    if (chosen.categorical) {
      node.set = static_cast<std::uint16_t>(tree_.sets.size());
      tree_.sets.push_back(chosen.left_bins);
      std::uint64_t& last = tree_.sets.back()[kMissingBin >> 6];
      last = (last & ~(1ull << (kMissingBin & 63))) | std::uint64_t{missing_left} << (kMissingBin & 63);
    }
    gains_.push_back(chosen.gain);
    if (leaf.parent >= 0) {
      TreeNode& parent = tree_.nodes[static_cast<std::size_t>(leaf.parent)];
      (leaf.is_left ? parent.left : parent.right) = static_cast<std::int32_t>(tree_.nodes.size());
    }
    tree_.nodes.push_back(node);
  }

  Leaf child(const Leaf& leaf, std::int32_t node, bool is_left) const {
    Leaf out = leaf;
    out.parent = node, out.is_left = is_left, out.depth = leaf.depth + 1;
    out.slot = kNoSlot, out.counted = false, out.split = {};
    out.info.draw = splitmix64(draw_ + 2ull * static_cast<std::uint64_t>(node) + (is_left ? 1 : 2));
    return out;
  }

  // If the column has a monotone constraint, neither child's values may cross the middle of the two.
  void bound(const Split& chosen, Leaf& left, Leaf& right) const {
    const std::int8_t monotone = columns_[chosen.column].monotone;
    if (monotone == 0) return;
    const double middle = (value(left) + value(right)) / 2;
    (monotone > 0 ? left : right).info.high = middle;
    (monotone > 0 ? right : left).info.low = middle;
  }

  double value(const Leaf& leaf) const {
    const double force = static_cast<double>(force_of(leaf.info.total)) * work_.units.force;
    const double curvature = static_cast<double>(curvature_of(leaf.info.total)) * work_.units.curvature;
    return std::clamp(leaf_value(force, curvature, settings_.split), leaf.info.low, leaf.info.high);
  }

  GrownTree finished() {
    GrownTree grown;
    for (std::size_t number = 0; number < leaves_.size(); ++number) {
      const Leaf& leaf = leaves_[number];
      grown.leaves.push_back({leaf.info.low, leaf.info.high});
      if (leaf.parent < 0) continue;
      TreeNode& parent = tree_.nodes[static_cast<std::size_t>(leaf.parent)];
      (leaf.is_left ? parent.left : parent.right) = ~static_cast<std::int32_t>(number);
    }
    grown.tree = std::move(tree_);
    grown.gains = std::move(gains_);
    return grown;
  }

  const Binned& data_;
  const GrowRows& work_;
  const GrowSettings& settings_;
  const std::uint64_t draw_;
  int num_threads_;
  std::vector<ColumnInfo> columns_;
  RowOrder& order_;
  NodeHistograms histograms_;
  std::vector<std::size_t> heap_;
  std::vector<Leaf> leaves_;
  Tree tree_;
  std::vector<double> gains_;
};

}  // namespace

std::vector<ColumnInfo> columns_of(const Binned& data, const GrowSettings& settings) {
  std::vector<ColumnInfo> columns;
  for (std::size_t j = 0; j < data.used.size(); ++j) {
    const std::int8_t monotone = settings.monotone.empty() ? std::int8_t{0} : settings.monotone[data.used[j]];
    columns.push_back({data.used[j], static_cast<std::uint32_t>(j), data.bins[j], data.missing[j] != 0,
                       data.categorical[j] != 0, monotone});
  }
  return columns;
}

GrownTree grow_tree(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                    GrowWorkspace& workspace, int num_threads) {
  return Growing(data, rows, settings, draw, workspace, num_threads).run();
}

}  // namespace podium
