// The histograms of a tree's leaves: a pool of them, built from rows or by subtraction from a parent, and searched.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "parallel.hpp"
#include "trees/binned.hpp"
#include "trees/exchange.hpp"
#include "trees/histogram.hpp"
#include "trees/split.hpp"

namespace podium {

// The rows a tree is grown from, as histograms take them: all of the training documents, or a sample of them.
struct GrowRows {
  struct Block {
    const std::uint8_t* bins;
    std::size_t first, count, stride;  // of `codes`, and bytes per row
  };
  std::vector<Block> blocks;
  std::vector<const Code*> codes;
  std::vector<std::uint8_t> chosen;  // whether each of the data's columns may be split on
  std::size_t rows = 0;
  std::size_t documents = 0;                // rows of all workers
  Exchange* exchange = nullptr;             // with the other workers, if there are any
  const std::uint32_t* document = nullptr;  // of each row; null: the row's own number
  WideCell total{};                         // of this worker's rows
  Units units;
};

// Memory that is kept from tree to tree.
template <class Cell>
struct HistogramWorkspace {
  std::vector<Cell> cells;                  // of each row, from which the tree is grown
  std::vector<std::vector<Cell>> slots;     // histograms of a node each
  std::vector<std::vector<Cell>> partials;  // histograms of the rows of a node that one thread took
  std::vector<std::int64_t> exchanged;      // numbers, and cells that are in use, of several nodes
};

// The 64-bit numbers of which cells consist, as workers exchange them.
template <class Cell>
inline constexpr std::size_t kNumbers = sizeof(Cell) / sizeof(std::int64_t);

inline constexpr std::size_t kNoSlot = ~std::size_t{0};

// A node whose histograms are needed: its rows (null: all), the slot, and whether that holds the histograms already.
struct NodeRows {
  const std::uint32_t* rows = nullptr;
  std::size_t count = 0, slot = kNoSlot;
  bool built = false;
};

// A node of a level of a symmetric tree. If it is derived, its slot holds the histograms of its parent, and those of
// its sibling are subtracted from them.
struct LevelNode {
  NodeRows rows;
  WideCell total{};
  bool derived = false;
  std::size_t documents = 0;  // of all workers
};

// What an exchange sums over all workers: the histograms in one slot, to be written into another (or the same).
struct Transfer {
  std::size_t from, to;
};

// With several workers every slot holds sums over all of them: histograms are exchanged as soon as they are built.
template <class Cell>
class NodeHistograms {
 public:
  NodeHistograms(const GrowRows& work, const std::vector<ColumnInfo>& columns, const SplitSettings& settings,
                 std::size_t most_bytes, HistogramWorkspace<Cell>& workspace, int num_threads);

  // Returns a free slot, or kNoSlot if the pool is full.
  std::size_t take();
  void give(std::size_t slot);
  std::size_t most_slots() const { return most_slots_; }
  std::size_t free_slots() const {
    return free_.size() + (most_slots_ - std::min(most_slots_, workspace_.slots.size()));
  }

  // Builds the histograms of nodes, with one exchange for all of them.
  void build(std::span<const NodeRows> nodes);
  // The same in steps, for histograms of this worker's rows alone that are kept beside those of all workers.
  void build_own(const NodeRows& node);
  void subtract(std::size_t part, std::size_t whole);
  // Sums the numbers and histograms, with one exchange.
  void exchange(std::span<std::int64_t> numbers, std::span<const Transfer> transfers);
  Split find_split(const NodeRows& node, const NodeInfo& info);
  // Builds `small` (if it has a slot and is not built), and `large` in its own slot: if `derived`, that slot holds its
  // parent's histograms, from which the small ones are subtracted; else it is built from its rows. Then finds the best
  // splits if asked.
  void build_children(NodeRows small, const NodeInfo* small_info, Split& small_split, const NodeRows& large,
                      const NodeInfo* large_info, Split& large_split, bool derived);
  // Builds the histograms of nodes of a symmetric tree, and adds the value of every cut of every column in each of
  // them. Siblings follow one another, and every node has a slot of its own.
  void weigh(std::span<const LevelNode> level, CutWorth* worth);
  // The same with rounded values.
  void weigh(std::span<const LevelNode> level, const Rounding& rounding, RoundedWorth* worth);
  // The histogram of one column in a slot; `scratch`, of 256 cells, is used if the column shares its code.
  const Cell* column_of(std::size_t slot, std::size_t column, Cell* scratch) const;
  // The sum of the documents of a node that go left by this column.
  WideCell left_total(std::size_t slot, std::size_t column, const std::array<std::uint8_t, 256>& left) const;
  // The best split that leaves enough documents on both sides. Their histograms are built.
  Split find_split_counted(const std::uint32_t* rows, const NodeRows& node, const NodeInfo& info,
                           const BinColumns& bins);

 private:
  // Codes that one thread takes at a time.
  struct Group {
    std::size_t block, first, count;
  };
  std::size_t threads() const { return static_cast<std::size_t>(std::max(num_threads_, 1)); }
  Cell* histogram(std::size_t slot) { return workspace_.slots[slot].data(); }
  const Cell* histogram(std::size_t slot) const { return workspace_.slots[slot].data(); }
  bool by_rows(const NodeRows& node) const;
  void clear(std::size_t first, std::size_t count, Cell* cells) const;
  void add(const Group& group, const std::uint32_t* rows, std::size_t begin, std::size_t end, Cell* cells) const;
  void add_by_rows(const NodeRows& node);
  bool has_missing(const Code& code) const;
  void merge(const Group& group, Cell* cells) const;
  void finish(const Group& group, const NodeRows& node);
  void subtract(const Group& group, const Cell* part, Cell* whole) const;
  const Cell* column(std::size_t code, std::size_t part, const Cell* cells, Cell* scratch) const;
  Split scan(std::size_t code, std::size_t part, const NodeInfo& info, const Cell* cells, const std::int64_t* counts,
             double rival = 0) const;
  Split promise(std::size_t code, std::size_t part, const NodeInfo& info, const GainBounds& bounds,
                const Cell* cells) const;
  template <class Seen>
  void each_column(const Group& group, Seen&& seen) const;
  Split scan_group(const Group& group, const NodeInfo& info, const Cell* cells) const;
  template <class Add>
  void build_level(std::span<const LevelNode> level, Add&& add);
  template <class Body>
  void each_group(std::size_t rows, Body&& body);

  const GrowRows& work_;
  const std::vector<ColumnInfo>& columns_;
  const SplitSettings& settings_;
  HistogramWorkspace<Cell>& workspace_;
  int num_threads_;
  std::size_t cells_, most_slots_;
  std::vector<Group> groups_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of each column: its code, and which part of that
  std::vector<std::size_t> free_;
  std::vector<std::uint8_t> partial_used_;
};

}  // namespace podium
