#include "trees/grow.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "random.hpp"

namespace podium {
namespace {

constexpr std::size_t kPiece = 8192;     // rows that one thread parts at a time
constexpr std::size_t kWorth = 1 << 15;  // additions below which one thread is faster than two
constexpr std::size_t kNoSlot = ~std::size_t{0};

struct Leaf {
  std::size_t begin, end;  // its rows
  NodeInfo info;
  std::uint32_t depth = 0;
  std::size_t slot = kNoSlot;  // of its histograms
  std::int32_t parent = -1;
  bool is_left = false, counted = false;
  Split split;

  std::size_t rows() const { return end - begin; }
};

class Growing {
 public:
  Growing(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw, GrowRoom& room,
          Team& team)
      : data_(data),
        work_(rows),
        settings_(settings),
        draw_(draw),
        team_(team),
        order_(room.order),
        spare_(room.spare),
        gathered_(room.gathered),
        slots_(room.slots) {
    order_.resize(rows.rows), spare_.resize(rows.rows);
    std::iota(order_.begin(), order_.end(), 0u);
    for (std::size_t j = 0; j < data.used.size(); ++j) {
      const std::int8_t direction = settings.directions.empty() ? std::int8_t{0} : settings.directions[data.used[j]];
      columns_.push_back({data.used[j], static_cast<std::uint32_t>(j), data.bins[j], data.missing[j] != 0,
                          data.categorical[j] != 0, direction});
      bounded_ = bounded_ || direction != 0;
    }
    slot_cells_ = work_.codes.size() * kStride;
    for (std::size_t slot = slots_.size(); slot-- > 0;) free_.push_back(slot);
    most_slots_ = std::max<std::size_t>(3, settings.histogram_bytes / std::max<std::size_t>(1, slot_cells_ * 8));
  }

  GrownTree run() {
    Leaf root{0, work_.rows, {}, 0, kNoSlot, -1, false, false, {}};
    root.info.total = work_.total;
    root.info.documents = static_cast<std::uint32_t>(work_.rows);
    root.info.draw = draw_;
    root.info.bounded = bounded_;
    leaves_.push_back(root);
    if (settings_.num_leaves > 1 && may_split(root)) look_at_root();
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

  // Whether a waits longer than b.
  bool later(std::size_t a, std::size_t b) const {
    const Leaf &first = leaves_[a], &second = leaves_[b];
    if (settings_.depth_wise && first.depth != second.depth) return first.depth > second.depth;
    if (first.split.gain != second.split.gain) return first.split.gain < second.split.gain;
    return a > b;
  }

  void offer(std::size_t number) {
    if (!leaves_[number].split.found()) return release(leaves_[number]);
    heap_.push_back(number);
    std::push_heap(heap_.begin(), heap_.end(), [this](std::size_t a, std::size_t b) { return later(a, b); });
  }

  // ---- histograms

  Cell* histogram(std::size_t slot) { return slots_[slot].data(); }

  std::size_t take_slot() {
    if (!free_.empty()) {
      const std::size_t slot = free_.back();
      free_.pop_back();
      if (slots_[slot].size() < slot_cells_) slots_[slot].resize(slot_cells_);  // trees may differ in their columns
      return slot;
    }
    if (slots_.size() < most_slots_) {
      slots_.emplace_back(slot_cells_);
      return slots_.size() - 1;
    }
    // The least promising leaf gives its own up; if it is split after all, both children are built from their rows.
    std::size_t least = heap_.front();
    for (const std::size_t number : heap_) {
      if (leaves_[number].slot != kNoSlot && (leaves_[least].slot == kNoSlot || later(number, least))) least = number;
    }
    return std::exchange(leaves_[least].slot, kNoSlot);
  }

  void release(Leaf& leaf) {
    if (leaf.slot != kNoSlot) free_.push_back(std::exchange(leaf.slot, kNoSlot));
  }

  void build(const GrowRows::Block& block, const Leaf& leaf, Cell* cells) {
    for (std::size_t c = block.first; c < block.first + block.count; ++c) {
      std::memset(cells + c * kStride, 0, work_.codes[c]->cells() * sizeof(Cell));
      cells[c * kStride + 255] = 0;
    }
    const bool all = leaf.rows() == work_.rows;
    add_rows(block.bins, block.stride, block.count, all ? nullptr : order_.data() + leaf.begin, leaf.rows(),
             work_.cells, cells + block.first * kStride);
  }

  void subtract(const GrowRows::Block& block, const Cell* part, Cell* whole) {
    for (std::size_t c = block.first; c < block.first + block.count; ++c) {
      const Cell* p = part + c * kStride;
      Cell* w = whole + c * kStride;
      const std::size_t end = work_.codes[c]->cells();
      for (std::size_t b = 0; b < end; ++b) w[b] -= p[b];
      if (end < 256) w[255] -= p[255];
    }
  }

  void scan(const GrowRows::Block& block, const Leaf& leaf, const Cell* cells, const std::uint32_t* counts,
            Split& best) {
    Cell cells_of[256];
    std::uint32_t counts_of[256];
    for (std::size_t c = block.first; c < block.first + block.count; ++c) {
      const Code& code = *work_.codes[c];
      for (std::size_t part = 0; part < code.parts.size(); ++part) {
        const std::size_t j = code.parts[part].column;
        if (!work_.chosen.empty() && !work_.chosen[j]) continue;
        const Cell* own = cells + c * kStride;
        const std::uint32_t* counted = counts ? counts + (c - block.first) * kStride : nullptr;
        if (code.shared()) {
          marginal(code, part, own, cells_of);
          own = cells_of;
          if (counts) {
            marginal(code, part, counted, counts_of);
            counted = counts_of;
          }
        }
        const Split found = scan_column(own, counted, columns_[j], leaf.info, settings_.split, work_.units);
        if (better(found, best)) best = found;
      }
    }
  }

  template <class Body>
  void each_block(std::size_t rows, Body&& body) {
    const bool worth = (rows + 128) * work_.codes.size() > kWorth;
    team_.loop(work_.blocks.size(), 1, worth, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) body(k);
    });
  }

  static Split best_of(const std::vector<Split>& found) {
    Split best;
    for (const Split& split : found) {
      if (better(split, best)) best = split;
    }
    return best;
  }

  void look_at_root() {
    Leaf& root = leaves_[0];
    root.slot = take_slot();
    std::vector<Split> found(work_.blocks.size());
    each_block(root.rows(), [&](std::size_t k) {
      build(work_.blocks[k], root, histogram(root.slot));
      scan(work_.blocks[k], root, histogram(root.slot), nullptr, found[k]);
    });
    root.split = best_of(found);
  }

  // Builds the smaller child, takes it off its parent for the other, and looks for the best split of both.
  void look_at(Leaf& small, Leaf& large, std::size_t parent_slot) {
    const bool first = may_split(small), second = may_split(large);
    if (!first && !second) return free_slot(parent_slot);
    const bool derived = parent_slot != kNoSlot;
    if (first || derived) small.slot = take_slot();
    if (second) large.slot = derived ? parent_slot : take_slot();
    if (!second) free_slot(parent_slot);
    std::vector<Split> found_small(work_.blocks.size()), found_large(work_.blocks.size());
    const std::size_t rows = derived ? small.rows() : small.rows() + large.rows();
    each_block(rows, [&](std::size_t k) {
      const GrowRows::Block& block = work_.blocks[k];
      if (small.slot != kNoSlot) build(block, small, histogram(small.slot));
      if (second && derived) subtract(block, histogram(small.slot), histogram(large.slot));
      if (second && !derived) build(block, large, histogram(large.slot));
      if (first) scan(block, small, histogram(small.slot), nullptr, found_small[k]);
      if (second) scan(block, large, histogram(large.slot), nullptr, found_large[k]);
    });
    small.split = best_of(found_small);
    large.split = best_of(found_large);
    if (!first) release(small);
  }

  void free_slot(std::size_t slot) {
    if (slot != kNoSlot) free_.push_back(slot);
  }

  // Histograms know no documents, so a split is counted when its turn comes; one with too few of them on a side sends
  // the leaf back for the best split that has enough.
  void count_and_look_again(Leaf& leaf) {
    if (leaf.slot == kNoSlot) {
      leaf.slot = take_slot();
      each_block(leaf.rows(), [&](std::size_t k) { build(work_.blocks[k], leaf, histogram(leaf.slot)); });
    }
    std::vector<Split> found(work_.blocks.size());
    each_block(leaf.rows(), [&](std::size_t k) {
      const GrowRows::Block& block = work_.blocks[k];
      std::vector<std::uint32_t> counts(block.count * kStride);
      count_rows(block.bins, block.stride, block.count, order_.data() + leaf.begin, leaf.rows(), counts.data());
      scan(block, leaf, histogram(leaf.slot), counts.data(), found[k]);
    });
    leaf.split = best_of(found);
    leaf.counted = true;
  }

  // ---- rows

  // Parts the rows of the leaf and gives the number that go left; rows keep their order on each side.
  std::size_t part(const Leaf& leaf, const Split& split) {
    std::uint8_t left[256];
    for (std::size_t b = 0; b < 256; ++b) left[b] = split.goes_left(static_cast<std::uint8_t>(b));
    const std::uint8_t* bins = data_.columns.column(split.column);
    const std::size_t pieces = (leaf.rows() + kPiece - 1) / kPiece;
    std::vector<std::size_t> lefts(pieces);
    team_.loop(pieces, 1, pieces > 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t first = leaf.begin + k * kPiece, last = std::min(leaf.end, first + kPiece);
        lefts[k] = part_piece(first, last, bins, left);
      }
    });
    if (pieces == 1) {
      std::copy(spare_.begin() + static_cast<std::ptrdiff_t>(leaf.begin),
                spare_.begin() + static_cast<std::ptrdiff_t>(leaf.begin + leaf.rows() - lefts[0]),
                order_.begin() + static_cast<std::ptrdiff_t>(leaf.begin + lefts[0]));
      return lefts[0];
    }
    return gather(leaf, lefts);
  }

  // The left ones stay in `order_`, moved together; the right ones go to `spare_`.
  std::size_t part_piece(std::size_t first, std::size_t last, const std::uint8_t* bins, const std::uint8_t* left) {
    std::uint32_t* stays = order_.data() + first;
    std::uint32_t* goes = spare_.data() + first;
    std::size_t l = 0, r = 0;
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t row = order_[i];
      const std::uint8_t is_left = left[bins[work_.document ? work_.document[row] : row]];
      stays[l] = row, goes[r] = row;
      l += is_left, r += 1u - is_left;
    }
    return l;
  }

  std::size_t gather(const Leaf& leaf, const std::vector<std::size_t>& lefts) {
    const std::size_t total = std::accumulate(lefts.begin(), lefts.end(), std::size_t{0});
    std::vector<std::uint32_t>& target = gathered_;
    target.resize(std::max(target.size(), leaf.rows()));
    std::size_t l = 0, r = total;
    for (std::size_t k = 0; k < lefts.size(); ++k) {
      const std::size_t first = leaf.begin + k * kPiece, count = std::min(leaf.end, first + kPiece) - first;
      std::copy_n(order_.data() + first, lefts[k], target.data() + l);
      std::copy_n(spare_.data() + first, count - lefts[k], target.data() + r);
      l += lefts[k], r += count - lefts[k];
    }
    std::copy_n(target.data(), leaf.rows(), order_.data() + leaf.begin);
    return total;
  }

  // ---- the tree

  void split(std::size_t number) {
    const Split chosen = leaves_[number].split;
    const std::size_t left = part(leaves_[number], chosen);
    const std::size_t right = leaves_[number].rows() - left;
    if (std::min(left, right) < settings_.split.min_documents && !leaves_[number].counted) {
      count_and_look_again(leaves_[number]);
      return offer(number);
    }
    const auto node_number = static_cast<std::int32_t>(tree_.nodes.size());
    append_node(leaves_[number], chosen, left > right);
    const std::size_t parent_slot = std::exchange(leaves_[number].slot, kNoSlot);
    Leaf first = child(leaves_[number], node_number, true), second = child(leaves_[number], node_number, false);
    first.end = second.begin = first.begin + left;
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

  void append_node(const Leaf& leaf, const Split& chosen, bool more_left) {
    TreeNode node;
    node.column = chosen.column;
    node.bin = chosen.bin;
    // Where no training document misses the feature, one that does goes where most of them went.
    node.missing_left = columns_[chosen.column].missing ? chosen.goes_left(kMissingBin) : more_left;
    if (chosen.categorical) {
      node.set = static_cast<std::uint16_t>(tree_.sets.size());
      tree_.sets.push_back(chosen.left_bins);
      if (node.missing_left) tree_.sets.back()[kMissingBin >> 6] |= 1ull << (kMissingBin & 63);
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
    out.info.draw = scatter(draw_ + 2ull * static_cast<std::uint64_t>(node) + (is_left ? 1 : 2));
    return out;
  }

  // Half way between the two values neither child may cross, if the column has a direction.
  void bound(const Split& chosen, Leaf& left, Leaf& right) const {
    const std::int8_t direction = columns_[chosen.column].direction;
    if (direction == 0) return;
    const double middle = (value(left) + value(right)) / 2;
    (direction > 0 ? left : right).info.high = middle;
    (direction > 0 ? right : left).info.low = middle;
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
      grown.leaves.push_back({leaf.info.documents, leaf.info.low, leaf.info.high});
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
  Team& team_;
  std::vector<ColumnInfo> columns_;
  std::size_t slot_cells_ = 0, most_slots_ = 3;
  bool bounded_ = false;
  std::vector<std::uint32_t>&order_, &spare_, &gathered_;
  std::vector<std::vector<Cell>>& slots_;
  std::vector<std::size_t> free_, heap_;
  std::vector<Leaf> leaves_;
  Tree tree_;
  std::vector<double> gains_;
};

}  // namespace

GrownTree grow_tree(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                    GrowRoom& room, Team& team) {
  return Growing(data, rows, settings, draw, room, team).run();
}

}  // namespace podium
