#include "trees/grow.hpp"

#include <algorithm>
#include <utility>

#include "random.hpp"

namespace podium {
namespace {

// With several workers: leaves whose children are prepared in one exchange, and the share of the largest gain that a
// leaf needs for that. Preparing a leaf that is never split costs time, and an exchange costs time too.
constexpr std::size_t kPreparedAtOnce = 16;
constexpr double kPreparedShare = 0.25;
constexpr std::size_t kSpareSlots = 5;  // histograms that are kept free for splitting a leaf

struct Leaf {
  RowRun run;  // of this worker
  NodeInfo info;
  std::uint32_t depth = 0;
  std::size_t slot = kNoSlot;  // of its histograms
  std::int32_t parent = -1;
  bool is_left = false, counted = false;
  Split split;
  // Once its rows are divided: this worker's rows on the left, and documents of all workers.
  bool divided = false;
  std::size_t left_rows = 0, left = 0, missing = 0;
  // With several workers: the left child's histograms, if they are prepared; and histograms of this worker's rows
  // alone: of the leaf, or of its right child once they are prepared, and of its left child.
  std::size_t left_slot = kNoSlot, own_slot = kNoSlot, own_left = kNoSlot;

  std::size_t right() const { return info.documents - left; }
};

template <class Cell>
class Growing {
 public:
  Growing(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
          GrowWorkspace<Cell>& workspace, int num_threads)
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
    root.info.total = work_.total;  // with several workers, the sum follows
    root.info.documents = work_.documents;
    root.info.draw = draw_;
    root.info.bounded =
        std::any_of(columns_.begin(), columns_.end(), [](const ColumnInfo& column) { return column.monotone != 0; });
    if (settings_.num_leaves > 1 && may_split(root)) {
      root.slot = take_slot();
      if (work_.exchange) build_root(root);
      NodeRows rows = rows_of(root);
      rows.built = work_.exchange != nullptr;
      root.split = histograms_.find_split(rows, root.info);
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
  bool may_split(const Leaf& leaf) const { return may_split(leaf.depth, leaf.info.documents); }
  bool may_split(std::uint32_t depth, std::size_t documents) const {
    return depth < settings_.max_depth && documents >= 2 && documents >= 2 * std::size_t{settings_.split.min_documents};
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
    for (const std::size_t number : heap_) {  // what only saves work for this worker goes first
      Leaf& leaf = leaves_[number];
      for (std::size_t* own : {&leaf.own_slot, &leaf.own_left}) {
        if (*own != kNoSlot) return std::exchange(*own, kNoSlot);
      }
    }
    // The leaf with the smallest gain gives up its histograms; if it is split after all, both children are built from
    // rows.
    std::size_t least = heap_.front();
    for (const std::size_t number : heap_) {
      if (leaves_[number].slot != kNoSlot && (leaves_[least].slot == kNoSlot || later(number, least))) least = number;
    }
    return std::exchange(leaves_[least].slot, kNoSlot);
  }

  void release(Leaf& leaf) {
    histograms_.give(std::exchange(leaf.slot, kNoSlot));
    release_own(leaf);
  }
  void release_own(Leaf& leaf) {
    for (std::size_t* own : {&leaf.left_slot, &leaf.own_slot, &leaf.own_left}) {
      histograms_.give(std::exchange(*own, kNoSlot));
    }
  }

  NodeRows rows_of(const Leaf& leaf) const {
    const bool all = leaf.run.rows() == work_.rows;
    return {all ? nullptr : order_.rows(leaf.run), leaf.run.rows(), leaf.slot};
  }

  // Builds the smaller child unless it is prepared (then it may be the larger one), subtracts it from the parent for
  // the other, and finds the best split of both.
  void look_at(Leaf& small, Leaf& large, std::size_t parent_slot, std::size_t prepared) {
    const bool first = may_split(small), second = may_split(large);
    if (!first && !second) {
      histograms_.give(prepared);
      return histograms_.give(parent_slot);
    }
    const bool derived = parent_slot != kNoSlot;
    if (first || derived) small.slot = prepared != kNoSlot ? prepared : take_slot();
    if (second) large.slot = derived ? parent_slot : take_slot();
    if (!second) histograms_.give(parent_slot);
    if (small.slot == kNoSlot) histograms_.give(prepared);
    NodeRows small_rows = rows_of(small);
    small_rows.built = small.slot != kNoSlot && small.slot == prepared;
    histograms_.build_children(small_rows, first ? &small.info : nullptr, small.split, rows_of(large),
                               second ? &large.info : nullptr, large.split, derived);
    if (!first) release(small);
  }

  // ---- several workers

  void build_root(Leaf& root) {
    if (histograms_.free_slots() >= kSpareSlots) root.own_slot = histograms_.take();
    NodeRows rows = rows_of(root);
    rows.slot = root.own_slot == kNoSlot ? root.slot : root.own_slot;
    histograms_.build_own(rows);
    const Transfer transfer{rows.slot, root.slot};
    std::int64_t numbers[] = {root.info.total.force, root.info.total.curvature};
    histograms_.exchange(numbers, {&transfer, 1});
    root.info.total = {numbers[0], numbers[1]};
  }

  // Divides a leaf, and with several workers also those that are likely to be split soon. Then the same exchange that
  // counts the documents of their children sums the histograms of the left ones, so that a leaf needs no other. Which
  // leaf is split next is not decided here.
  void prepare(std::size_t number) {
    if (leaves_[number].divided) return;
    std::vector<std::size_t> numbers{number};
    if (work_.exchange) add_promising(numbers);
    std::vector<std::int64_t> counts;
    std::vector<Transfer> transfers;
    for (const std::size_t each : numbers) {
      Leaf& leaf = leaves_[each];
      const Parted parted = part(leaf.run, leaf.split);
      leaf.run.place = parted.place, leaf.left_rows = parted.left, leaf.divided = true;
      counts.push_back(static_cast<std::int64_t>(parted.left));
      counts.push_back(static_cast<std::int64_t>(parted.missing));
      const bool again =
          leaves_.size() + 1 < settings_.num_leaves && may_split(leaf.depth + 1, leaf.info.documents - 1);
      if (!work_.exchange || !again || leaf.slot == kNoSlot || histograms_.free_slots() < kSpareSlots) continue;
      leaf.left_slot = histograms_.take();
      leaf.own_left = histograms_.take();
      build_own_children(leaf);
      transfers.push_back({leaf.own_left, leaf.left_slot});
    }
    if (work_.exchange) histograms_.exchange(counts, transfers);
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      leaves_[numbers[k]].left = static_cast<std::size_t>(counts[2 * k]);
      leaves_[numbers[k]].missing = static_cast<std::size_t>(counts[2 * k + 1]);
    }
  }

  // Builds the smaller child from this worker's rows and subtracts it for the other.
  void build_own_children(Leaf& leaf) {
    const bool derived = leaf.own_slot != kNoSlot, left = !derived || 2 * leaf.left_rows <= leaf.run.rows();
    RowRun run = leaf.run;
    (left ? run.end : run.begin) = leaf.run.begin + leaf.left_rows;
    const bool all = run.rows() == work_.rows;
    histograms_.build_own({all ? nullptr : order_.rows(run), run.rows(), leaf.own_left});
    if (derived) histograms_.subtract(leaf.own_left, leaf.own_slot);
    if (!left) std::swap(leaf.own_left, leaf.own_slot);
  }

  void add_promising(std::vector<std::size_t>& numbers) const {
    const Leaf& best = leaves_[numbers.front()];
    std::vector<std::size_t> others;
    for (const std::size_t number : heap_) {
      const Leaf& leaf = leaves_[number];
      if (leaf.divided) continue;
      const bool likely = settings_.growth == Growth::depth ? leaf.depth == best.depth
                                                            : leaf.split.gain >= kPreparedShare * best.split.gain;
      if (likely) others.push_back(number);
    }
    std::sort(others.begin(), others.end(), [this](std::size_t a, std::size_t b) { return later(b, a); });
    const std::size_t left = settings_.num_leaves - leaves_.size() - 1;  // splits after this one
    const std::size_t most = settings_.growth == Growth::depth ? left : std::min(left, kPreparedAtOnce - 1);
    others.resize(std::min(others.size(), most));
    numbers.insert(numbers.end(), others.begin(), others.end());
  }

  // Histograms hold no numbers of documents, so they are counted when a leaf is split; if a side has too few, the leaf
  // gets the best split that has enough.
  void count_and_look_again(Leaf& leaf) {
    release_own(leaf);
    if (leaf.slot == kNoSlot) {
      leaf.slot = take_slot();
      const NodeRows rows = rows_of(leaf);
      histograms_.build({&rows, 1});
    }
    leaf.split = histograms_.find_split_counted(order_.rows(leaf.run), rows_of(leaf), leaf.info, data_.columns);
    leaf.counted = true, leaf.divided = false;
  }

  // ---- the tree

  void split(std::size_t number) {
    prepare(number);
    const Split chosen = leaves_[number].split;
    const std::size_t left = leaves_[number].left, right = leaves_[number].right();
    const std::size_t missing = leaves_[number].missing, prepared = leaves_[number].left_slot;
    if (std::min(left, right) < settings_.split.min_documents && !leaves_[number].counted) {
      count_and_look_again(leaves_[number]);
      return offer(number);
    }
    const auto node_number = static_cast<std::int32_t>(tree_.nodes.size());
    // If no document of the node lacks the feature, missing values go to the larger child.
    append_node(leaves_[number], chosen, missing > 0 ? chosen.goes_left(kMissingBin) : left > right);
    const std::size_t parent_slot = std::exchange(leaves_[number].slot, kNoSlot);
    Leaf first = child(leaves_[number], node_number, true), second = child(leaves_[number], node_number, false);
    first.own_slot = leaves_[number].own_left;
    second.own_slot = prepared == kNoSlot ? kNoSlot : leaves_[number].own_slot;
    if (prepared == kNoSlot) histograms_.give(leaves_[number].own_slot);
    first.run.end = second.run.begin = first.run.begin + leaves_[number].left_rows;
    first.info.documents = left, second.info.documents = right;
    first.info.total = chosen.left, second.info.total -= chosen.left;
    bound(chosen, first, second);
    const std::size_t other = leaves_.size();
    leaves_[number] = first;
    leaves_.push_back(second);
    if (leaves_.size() < settings_.num_leaves) {
      const bool first_smaller = prepared != kNoSlot || left <= right;
      look_at(leaves_[first_smaller ? number : other], leaves_[first_smaller ? other : number], parent_slot, prepared);
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
    out.slot = out.left_slot = out.own_slot = out.own_left = kNoSlot, out.counted = out.divided = false, out.split = {};
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
    const double force = static_cast<double>(leaf.info.total.force) * work_.units.force;
    const double curvature = static_cast<double>(leaf.info.total.curvature) * work_.units.curvature;
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
  NodeHistograms<Cell> histograms_;
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

template <class Cell>
GrownTree grow_tree(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                    GrowWorkspace<Cell>& workspace, int num_threads) {
  return Growing<Cell>(data, rows, settings, draw, workspace, num_threads).run();
}

template GrownTree grow_tree(const Binned&, const GrowRows&, const GrowSettings&, std::uint64_t,
                             GrowWorkspace<NarrowCell>&, int);
template GrownTree grow_tree(const Binned&, const GrowRows&, const GrowSettings&, std::uint64_t,
                             GrowWorkspace<WideCell>&, int);

}  // namespace podium
