#include "trees/node_histograms.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "trees/rows.hpp"
#include "unreachable.hpp"

namespace podium {
namespace {

constexpr std::size_t kWorth = 1 << 14;  // additions below which one thread is faster than two
constexpr std::size_t kScan = 1024;  // rows that are added in the time that searching the histograms of two nodes takes
constexpr std::size_t kPiece = 2048;  // rows that one thread adds at a time
constexpr std::size_t kByRows =
    8192;  // number of rows from which threads divide them and add up their partial histograms

constexpr std::size_t kCountedAtOnce = 8;  // columns whose documents workers count in one exchange

Split best_of(const std::vector<Split>& found) {
  Split best;
  for (const Split& split : found) {
    if (better(split, best)) best = split;
  }
  return best;
}

}  // namespace

template <class Cell>
NodeHistograms<Cell>::NodeHistograms(const GrowRows& work, const std::vector<ColumnInfo>& columns,
                                     const SplitSettings& settings, std::size_t most_bytes,
                                     HistogramWorkspace<Cell>& workspace, int num_threads)
    : work_(work), columns_(columns), settings_(settings), workspace_(workspace), num_threads_(num_threads) {
  cells_ = work.codes.size() * kStride;
  most_slots_ = std::max<std::size_t>(3, most_bytes / std::max<std::size_t>(1, cells_ * sizeof(Cell)));
  for (std::size_t slot = std::min(most_slots_, workspace.slots.size()); slot-- > 0;) free_.push_back(slot);
  workspace.partials.resize(std::max(workspace.partials.size(), threads() - 1));
  partial_used_.resize(threads() - 1);
  places_.resize(columns.size());
  for (std::size_t code = 0; code < work.codes.size(); ++code) {
    for (std::size_t part = 0; part < work.codes[code]->parts.size(); ++part) {
      places_[work.codes[code]->parts[part].column] = {code, part};
    }
  }
  const std::size_t parts = (threads() + work.blocks.size() - 1) / std::max<std::size_t>(1, work.blocks.size());
  for (std::size_t b = 0; b < work.blocks.size(); ++b) {
    const std::size_t eights = (work.blocks[b].count + 7) / 8;  // codes are added by eights
    for (std::size_t k = 0; k < parts; ++k) {
      const std::size_t first = eights * k / parts * 8,
                        last = std::min(eights * (k + 1) / parts * 8, work.blocks[b].count);
      if (first < last) groups_.push_back({b, work.blocks[b].first + first, last - first});
    }
  }
}

template <class Cell>
std::size_t NodeHistograms<Cell>::take() {
  if (!free_.empty()) {
    const std::size_t slot = free_.back();
    free_.pop_back();
    if (workspace_.slots[slot].size() < cells_)
      workspace_.slots[slot].resize(cells_);  // trees may differ in their columns
    return slot;
  }
  if (workspace_.slots.size() >= most_slots_) return kNoSlot;
  workspace_.slots.emplace_back(cells_);
  return workspace_.slots.size() - 1;
}

template <class Cell>
void NodeHistograms<Cell>::give(std::size_t slot) {
  if (slot != kNoSlot) free_.push_back(slot);
}

template <class Cell>
template <class Body>
void NodeHistograms<Cell>::each_group(std::size_t rows, Body&& body) {
  const bool worth = (rows + kScan) * work_.codes.size() > kWorth;
  parallel_for(groups_.size(), worth ? num_threads_ : 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) body(k);
  });
}

template <class Cell>
bool NodeHistograms<Cell>::by_rows(const NodeRows& node) const {
  return threads() > 1 && node.count >= kByRows;
}

template <class Cell>
void NodeHistograms<Cell>::clear(std::size_t first, std::size_t count, Cell* cells) const {
  for (std::size_t c = first; c < first + count; ++c) {
    std::memset(cells + c * kStride, 0, work_.codes[c]->cells() * sizeof(Cell));
    cells[c * kStride + 255] = Cell{};
  }
}

template <class Cell>
void NodeHistograms<Cell>::add(const Group& group, const std::uint32_t* rows, std::size_t begin, std::size_t end,
                               Cell* cells) const {
  const GrowRows::Block& block = work_.blocks[group.block];
  const std::uint8_t* bins = block.bins + (group.first - block.first);
  Cell* to = cells + group.first * kStride;
  if (rows) return add_rows(bins, block.stride, group.count, rows + begin, end - begin, workspace_.cells.data(), to);
  add_rows(bins + begin * block.stride, block.stride, group.count, nullptr, end - begin,
           workspace_.cells.data() + begin, to);
}

// Each thread takes the next rows and adds them to histograms of its own; sums of whole numbers are the same however
// the rows are divided.
template <class Cell>
void NodeHistograms<Cell>::add_by_rows(const NodeRows& node) {
  const std::size_t pieces = (node.count + kPiece - 1) / kPiece, all = pieces * work_.blocks.size();
  std::atomic<std::size_t> next{0};
  std::fill(partial_used_.begin(), partial_used_.end(), std::uint8_t{0});
  parallel_for(threads(), num_threads_, 1, [&](std::size_t worker, std::size_t) {
    std::size_t piece = next.fetch_add(1);
    if (worker > 0 && piece >= all) return;
    if (worker > 0) {
      workspace_.partials[worker - 1].resize(std::max(workspace_.partials[worker - 1].size(), cells_));
      partial_used_[worker - 1] = 1;
    }
    Cell* cells = worker == 0 ? histogram(node.slot) : workspace_.partials[worker - 1].data();
    clear(0, work_.codes.size(), cells);
    for (; piece < all; piece = next.fetch_add(1)) {
      check_interrupt();
      const std::size_t block = piece / pieces, begin = piece % pieces * kPiece;
      const Group whole{block, work_.blocks[block].first, work_.blocks[block].count};
      add(whole, node.rows, begin, std::min(node.count, begin + kPiece), cells);
    }
  });
}

template <class Cell>
void NodeHistograms<Cell>::merge(const Group& group, Cell* cells) const {
  for (std::size_t k = 0; k < partial_used_.size(); ++k) {
    if (!partial_used_[k]) continue;
    for (std::size_t c = group.first; c < group.first + group.count; ++c) {
      const Cell* from = workspace_.partials[k].data() + c * kStride;
      Cell* to = cells + c * kStride;
      const std::size_t end = work_.codes[c]->cells();
      for (std::size_t b = 0; b < end; ++b) to[b] += from[b];
      if (end < 256) to[255] += from[255];
    }
  }
}

// The histograms of one group: the sum of the threads' histograms, or built from the rows themselves.
template <class Cell>
void NodeHistograms<Cell>::finish(const Group& group, const NodeRows& node) {
  Cell* cells = histogram(node.slot);
  if (by_rows(node)) return merge(group, cells);
  clear(group.first, group.count, cells);
  add(group, node.rows, 0, node.count, cells);
}

template <class Cell>
void NodeHistograms<Cell>::subtract(const Group& group, const Cell* part, Cell* whole) const {
  for (std::size_t c = group.first; c < group.first + group.count; ++c) {
    const Cell* p = part + c * kStride;
    Cell* w = whole + c * kStride;
    const std::size_t end = work_.codes[c]->cells();
    for (std::size_t b = 0; b < end; ++b) w[b] -= p[b];
    if (end < 256) w[255] -= p[255];
  }
}

// The histogram of one column, extracted from its code if that is shared.
template <class Cell>
const Cell* NodeHistograms<Cell>::column(std::size_t code, std::size_t part, const Cell* cells, Cell* scratch) const {
  const Cell* own = cells + code * kStride;
  if (!work_.codes[code]->shared()) return own;
  marginal(*work_.codes[code], part, own, scratch);
  return scratch;
}

// One column of a code; `counts` are documents by its bins, or null.
template <class Cell>
Split NodeHistograms<Cell>::scan(std::size_t code, std::size_t part, const NodeInfo& info, const Cell* cells,
                                 const std::int64_t* counts, double rival) const {
  Cell scratch[256];
  const ColumnInfo& of = columns_[work_.codes[code]->parts[part].column];
  return scan_column(column(code, part, cells, scratch), counts, of, info, settings_, work_.units, rival);
}

// seen(code, part, column) for every column of a group that may be split on.
template <class Cell>
template <class Seen>
void NodeHistograms<Cell>::each_column(const Group& group, Seen&& seen) const {
  for (std::size_t c = group.first; c < group.first + group.count; ++c) {
    for (std::size_t part = 0; part < work_.codes[c]->parts.size(); ++part) {
      const std::size_t j = work_.codes[c]->parts[part].column;
      if (work_.chosen.empty() || work_.chosen[j]) seen(c, part, j);
    }
  }
}

template <class Cell>
Split NodeHistograms<Cell>::scan_group(const Group& group, const NodeInfo& info, const Cell* cells) const {
  struct Column {
    std::size_t code, part;
    double bound;
  };
  const GainBounds bounds(info, settings_, work_.units);
  std::vector<Column> columns;
  each_column(group, [&](std::size_t code, std::size_t part, std::size_t j) {
    Cell scratch[256];
    columns.push_back({code, part, bounds.of(column(code, part, cells, scratch), columns_[j])});
  });
  Split best;
  const auto search = [&](const Column& column) {
    if (column.bound == 0 || column.bound < best.gain) return;
    const Split found = scan(column.code, column.part, info, cells, nullptr, best.gain);
    if (better(found, best)) best = found;
  };
  // The column with the largest bound is mostly the best one, and then hardly any other needs to be searched.
  const auto first = std::ranges::max_element(columns, {}, &Column::bound);
  if (first != columns.end()) search(*first);
  for (auto column = columns.begin(); column != columns.end(); ++column) {
    if (column != first) search(*column);
  }
  return best;
}

template <class Cell>
void NodeHistograms<Cell>::build_own(const NodeRows& node) {
  if (by_rows(node)) add_by_rows(node);
  each_group(node.count, [&](std::size_t k) { finish(groups_[k], node); });
}

template <class Cell>
void NodeHistograms<Cell>::build(std::span<const NodeRows> nodes) {
  for (const NodeRows& node : nodes) build_own(node);
  if (!work_.exchange || nodes.empty()) return;
  std::vector<Transfer> transfers;
  for (const NodeRows& node : nodes) transfers.push_back({node.slot, node.slot});
  exchange({}, transfers);
}

template <class Cell>
void NodeHistograms<Cell>::subtract(std::size_t part, std::size_t whole) {
  each_group(0, [&](std::size_t k) { subtract(groups_[k], histogram(part), histogram(whole)); });
}

template <class Cell>
bool NodeHistograms<Cell>::has_missing(const Code& code) const {
  return !code.shared() && columns_[code.parts[0].column].missing;
}

// Only the cells that are in use cross: those of the bins, and of missing values if there are any.
template <class Cell>
void NodeHistograms<Cell>::exchange(std::span<std::int64_t> numbers, std::span<const Transfer> transfers) {
  std::size_t used = 0;
  for (const Code* code : work_.codes) used += code->cells() + has_missing(*code);
  std::vector<std::int64_t>& all = workspace_.exchanged;
  const std::size_t size = numbers.size() + transfers.size() * used * kNumbers<Cell>;
  if (all.size() < size) all.resize(size);
  std::int64_t* next = std::copy(numbers.begin(), numbers.end(), all.data());
  const auto put = [&](const Cell* from, std::size_t count) {
    std::memcpy(next, from, count * sizeof(Cell));
    next += count * kNumbers<Cell>;
  };
  for (const Transfer& transfer : transfers) {
    const Cell* from = histogram(transfer.from);
    for (const Code* code : work_.codes) {
      put(from, code->cells());
      if (has_missing(*code)) put(from + kMissingBin, 1);
      from += kStride;
    }
  }
  sum_over_workers(work_.exchange, {all.data(), size});
  const std::int64_t* sum = all.data() + numbers.size();
  const auto get = [&](Cell* to, std::size_t count) {
    std::memcpy(to, sum, count * sizeof(Cell));
    sum += count * kNumbers<Cell>;
  };
  std::copy_n(all.data(), numbers.size(), numbers.begin());
  for (const Transfer& transfer : transfers) {
    Cell* to = histogram(transfer.to);
    for (const Code* code : work_.codes) {
      to[kMissingBin] = Cell{};
      get(to, code->cells());
      if (has_missing(*code)) get(to + kMissingBin, 1);
      to += kStride;
    }
  }
}

template <class Cell>
Split NodeHistograms<Cell>::find_split(const NodeRows& node, const NodeInfo& info) {
  if (!node.built && by_rows(node)) add_by_rows(node);
  std::vector<Split> found(groups_.size());
  each_group(node.built ? 0 : node.count, [&](std::size_t k) {
    if (!node.built) finish(groups_[k], node);
    found[k] = scan_group(groups_[k], info, histogram(node.slot));
  });
  return best_of(found);
}

template <class Cell>
void NodeHistograms<Cell>::build_children(NodeRows small, const NodeInfo* small_info, Split& small_split,
                                          const NodeRows& large, const NodeInfo* large_info, Split& large_split,
                                          bool derived) {
  std::vector<NodeRows> alone;  // what cannot be built and searched in one go
  if (large_info && !derived) alone.push_back(large);
  if (work_.exchange && small.slot != kNoSlot && !small.built) alone.push_back(small), small.built = true;
  build(alone);
  const bool builds = small.slot != kNoSlot && !small.built;
  if (builds && by_rows(small)) add_by_rows(small);
  std::vector<Split> found_small(groups_.size()), found_large(groups_.size());
  each_group(builds ? small.count : 0, [&](std::size_t k) {
    const Group& group = groups_[k];
    if (builds) finish(group, small);
    if (large_info && derived) subtract(group, histogram(small.slot), histogram(large.slot));
    if (small_info) found_small[k] = scan_group(group, *small_info, histogram(small.slot));
    if (large_info) found_large[k] = scan_group(group, *large_info, histogram(large.slot));
  });
  small_split = best_of(found_small);
  large_split = best_of(found_large);
}

// add(node, histogram, column) for every column of every node.
template <class Cell>
template <class Add>
void NodeHistograms<Cell>::build_level(std::span<const LevelNode> level, Add&& add) {
  std::vector<std::uint8_t> built(level.size());
  std::vector<NodeRows> alone;
  std::size_t rows = kScan * level.size();
  for (std::size_t i = 0; i < level.size(); ++i) {
    built[i] = level[i].rows.built;
    if (level[i].derived || built[i]) continue;
    rows += level[i].rows.count;
    if (work_.exchange || by_rows(level[i].rows)) alone.push_back(level[i].rows), built[i] = 1;
  }
  build(alone);
  each_group(rows, [&](std::size_t k) {
    const Group& group = groups_[k];
    for (std::size_t first = 0; first < level.size(); first += 2) {
      const std::size_t last = std::min(first + 2, level.size());
      for (std::size_t i = first; i < last; ++i) {
        if (!level[i].derived && !built[i]) finish(group, level[i].rows);
      }
      for (std::size_t i = first; i < last; ++i) {
        if (level[i].derived) subtract(group, histogram(level[i ^ 1].rows.slot), histogram(level[i].rows.slot));
      }
      for (std::size_t i = first; i < last; ++i) {
        if (level[i].documents == 0) continue;
        each_column(group, [&](std::size_t code, std::size_t part, std::size_t j) {
          Cell scratch[256];
          add(i, column(code, part, histogram(level[i].rows.slot), scratch), j);
        });
      }
    }
  });
}

template <class Cell>
void NodeHistograms<Cell>::weigh(std::span<const LevelNode> level, CutWorth* worth) {
  build_level(level, [&](std::size_t i, const Cell* cells, std::size_t j) {
    add_worth(cells, nullptr, columns_[j], level[i].total, settings_, work_.units, worth[j]);
  });
}

template <class Cell>
void NodeHistograms<Cell>::weigh(std::span<const LevelNode> level, const Rounding& rounding, RoundedWorth* worth) {
  if constexpr (!kIsWide<Cell>) {
    std::vector<RoundedNode> nodes;
    for (const LevelNode& node : level) nodes.push_back(rounding.node(node.total));
    build_level(level, [&](std::size_t i, const Cell* cells, std::size_t j) {
      add_worth(cells, columns_[j], nodes[i], worth[j]);
    });
  } else {
    unreachable();
  }
}

template <class Cell>
const Cell* NodeHistograms<Cell>::column_of(std::size_t slot, std::size_t j, Cell* scratch) const {
  return column(places_[j].first, places_[j].second, histogram(slot), scratch);
}

template <class Cell>
WideCell NodeHistograms<Cell>::left_total(std::size_t slot, std::size_t j,
                                          const std::array<std::uint8_t, 256>& left) const {
  Cell scratch[256];
  const Cell* own = column_of(slot, j, scratch);
  Cell sum = left[255] ? own[255] : Cell{};
  for (std::size_t b = 0; b < columns_[j].bins; ++b) sum += left[b] ? own[b] : Cell{};
  return widened(sum);
}

// What a column gains at most if documents are not counted. Workers have to agree on it.
template <class Cell>
Split NodeHistograms<Cell>::promise(std::size_t code, std::size_t part, const NodeInfo& info, const GainBounds& bounds,
                                    const Cell* cells) const {
  Cell scratch[256];
  const ColumnInfo& of = columns_[work_.codes[code]->parts[part].column];
  const double bound = bounds.of(column(code, part, cells, scratch), of);
  if (work_.exchange || std::isinf(bound)) return scan(code, part, info, cells, nullptr);
  Split split;
  split.feature = of.feature, split.column = of.column;
  split.gain = split.compared = bound;
  return split;
}

// The gain of a column without counts bounds the gain with counts, so columns are counted in the order of that bound
// until the best one is found.
template <class Cell>
Split NodeHistograms<Cell>::find_split_counted(const std::uint32_t* rows, const NodeRows& node, const NodeInfo& info,
                                               const BinColumns& bins) {
  struct Promise {
    Split split;
    std::size_t code = 0, part = 0;
    bool counted = false;
  };
  std::vector<Promise> promises(columns_.size());
  const GainBounds bounds(info, settings_, work_.units);
  each_group(0, [&](std::size_t k) {
    each_column(groups_[k], [&](std::size_t code, std::size_t part, std::size_t j) {
      promises[j] = {promise(code, part, info, bounds, histogram(node.slot)), code, part};
    });
  });
  const auto more = [](const Promise& a, const Promise& b) { return better(a.split, b.split); };
  for (;;) {
    Promise& best = *std::ranges::min_element(promises, more);
    if (best.counted || !best.split.found()) return best.split;
    std::vector<Promise*> next{&best};
    if (work_.exchange) {  // the best few in one exchange
      next.clear();
      for (Promise& promise : promises) {
        if (!promise.counted && promise.split.found()) next.push_back(&promise);
      }
      const std::size_t most = std::min(kCountedAtOnce, next.size());
      std::ranges::partial_sort(next, next.begin() + static_cast<std::ptrdiff_t>(most),
                                [&](const Promise* a, const Promise* b) { return more(*a, *b); });
      next.resize(most);
    }
    const std::size_t count = next.size();
    std::vector<std::int64_t> counts(count * 256);
    for (std::size_t k = 0; k < count; ++k) {
      count_bins(rows, node.count, bins.column(next[k]->split.column), work_.document, counts.data() + k * 256);
    }
    sum_over_workers(work_.exchange, counts);
    for (std::size_t k = 0; k < count; ++k) {
      next[k]->split = scan(next[k]->code, next[k]->part, info, histogram(node.slot), counts.data() + k * 256);
      next[k]->counted = true;
    }
  }
}

template class NodeHistograms<NarrowCell>;
template class NodeHistograms<WideCell>;

}  // namespace podium
