#include "trees/symmetric.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "random.hpp"

namespace podium {
namespace {

constexpr std::size_t kCountedAtOnce = 8;  // columns whose documents workers count in one exchange

struct Node {
  RowRun run;
  std::size_t documents = 0;  // of all workers
  WideCell total{};
  std::size_t slot = kNoSlot;           // of its histograms
  bool derived = false, built = false;  // whether the slot holds those of its parent, or its own
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
        cells_(workspace.histograms.cells.data()),
        histograms_(rows, columns_, settings.split, settings.histogram_bytes, workspace.histograms, num_threads),
        rounding_(settings.split, rows.units) {
    order_.start(rows.rows);
  }

  GrownTree run() {
    level_ = {{{0, work_.rows}, work_.documents, work_.total}};
    const auto most = std::min<std::uint32_t>(settings_.max_depth, std::bit_width(settings_.num_leaves) - 1u);
    keeps_ = most > 0 && histograms_.most_slots() >> (most - 1) > 0;
    // Bounds depend on the machine, and workers have to agree on what they exchange.
    bounds_ = keeps_ && !kIsWide<Cell> && !work_.exchange && rounding_.known && !settings_.split.random_thresholds;
    if (most > 0) level_.front().slot = histograms_.take();
    if (work_.exchange) add_up_root(level_.front());
    for (std::uint32_t depth = 0; depth < most; ++depth) {
      const Split chosen = best_split(depth);
      if (!chosen.found()) break;
      part(chosen, depth + 1 < most);
    }
    return finished();
  }

 private:
  // Sums the total of the root over the workers, and with the same exchange its histograms.
  void add_up_root(Node& root) {
    std::int64_t total[] = {root.total.force, root.total.curvature};
    if (keeps_) {
      histograms_.build_own(rows_of(root));
      const Transfer transfer{root.slot, root.slot};
      histograms_.exchange(total, {&transfer, 1});
      root.built = true;
    } else {
      sum_over_workers(work_.exchange, total);
    }
    root.total = {total[0], total[1]};
  }

  NodeRows rows_of(const Node& node) const {
    const bool all = node.run.rows() == work_.rows;
    return {all ? nullptr : order_.rows(node.run), node.run.rows(), node.slot, node.built};
  }

  Split best_split(std::uint32_t depth) {
    std::vector<LevelNode> level;
    double whole = 0;
    for (const Node& node : level_) {
      level.push_back({rows_of(node), node.total, node.derived, node.documents});
      if (node.documents > 0) whole += worth(node);
    }
    counts_.assign(columns_.size(), {});
    const std::uint64_t draw = splitmix64(draw_ + depth);
    std::vector<Split> found = bounds_ ? bounds(level, whole, draw) : best_of_columns(level, whole, draw);
    return best_counted(found, whole, draw);
  }

  std::vector<Split> best_of_columns(std::span<const LevelNode> level, double whole, std::uint64_t draw) {
    const std::unique_ptr<CutWorth[]> worth(new CutWorth[columns_.size()]);
    for (std::size_t j = 0; j < columns_.size(); ++j) worth[j].begun = false;
    if (keeps_) {
      histograms_.weigh(level, worth.get());
    } else {
      for (const LevelNode& node : level) histograms_.weigh({&node, 1}, worth.get());
    }
    std::vector<Split> found;
    for (const ColumnInfo& column : columns_) {
      found.push_back(best_of_cuts(worth[column.column], whole, column, draw, settings_.split));
    }
    return found;
  }

  // Bounds of them, which take less time and choose the columns that are looked at.
  std::vector<Split> bounds(std::span<const LevelNode> level, double whole, std::uint64_t draw) {
    const std::unique_ptr<RoundedWorth[]> worth(new RoundedWorth[columns_.size()]);
    for (std::size_t j = 0; j < columns_.size(); ++j) worth[j].begun = false;
    histograms_.weigh(level, rounding_, worth.get());
    std::vector<Split> found;
    found.reserve(columns_.size());
    for (const ColumnInfo& column : columns_) {
      found.push_back(
          bound_of_cuts(worth[column.column], level.size(), whole, column, draw, settings_.split, rounding_));
    }
    return found;
  }

  // Histograms hold no numbers of documents. The value of a column without counts bounds the value with counts, so
  // columns are counted in the order of that bound until the best one is found.
  Split best_counted(std::vector<Split>& found, double whole, std::uint64_t draw) {
    std::vector<std::uint8_t> counted(found.size(), !bounds_ && settings_.split.min_documents <= 1);
    for (;;) {
      const auto best = std::min_element(found.begin(), found.end(), better);
      if (best == found.end()) return {};
      const auto number = static_cast<std::size_t>(best - found.begin());
      if (counted[number] || !best->found()) return *best;
      std::vector<std::size_t> next{number};
      if (work_.exchange) {  // the best few, for one exchange
        next.clear();
        for (std::size_t j = 0; j < found.size(); ++j) {
          if (!counted[j] && found[j].found()) next.push_back(j);
        }
        const std::size_t count = std::min(kCountedAtOnce, next.size());
        std::partial_sort(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(count), next.end(),
                          [&](std::size_t a, std::size_t b) { return better(found[a], found[b]); });
        next.resize(count);
      }
      count_columns(next, found, whole, draw);
      for (const std::size_t j : next) counted[j] = 1;
    }
  }

  // Finds the best cuts of columns again, from histograms with numbers of documents, which are kept.
  void count_columns(const std::vector<std::size_t>& columns, std::vector<Split>& found, double whole,
                     std::uint64_t draw) {
    const bool counts = settings_.split.min_documents > 1;
    const std::size_t width = counts ? counted_width() : 0;
    std::vector<std::int64_t> sums(columns.size() * level_.size() * width);
    std::int64_t* next = sums.data();
    for (const std::size_t j : columns) {
      if (!counts) break;
      for (const Node& node : level_) add_counted(node, columns_[j], std::exchange(next, next + width));
    }
    sum_over_workers(work_.exchange, sums);
    const std::int64_t* from = sums.data();
    for (const std::size_t j : columns) {
      CutWorth worth;
      worth.begun = false;
      if (work_.exchange) counts_[j].assign(from, from + level_.size() * width);
      for (const Node& node : level_) {
        const std::int64_t* own = std::exchange(from, from + width);
        if (node.documents == 0) continue;
        Cell scratch[256];
        const Cell* cells = scratch;
        if (keeps_) {
          cells = histograms_.column_of(node.slot, columns_[j].column, scratch);
        } else {
          std::memcpy(scratch, own + 256, sizeof scratch);
        }
        add_worth(cells, counts ? own : nullptr, columns_[j], node.total, settings_.split, work_.units, worth);
      }
      found[j] = best_of_cuts(worth, whole, columns_[j], draw, settings_.split);
    }
  }

  // Numbers of each node and column: documents by bin, then cells if histograms are not kept.
  std::size_t counted_width() const { return 256 * (keeps_ ? 1 : 1 + kNumbers<Cell>); }

  void add_counted(const Node& node, const ColumnInfo& column, std::int64_t* sums) const {
    const std::uint8_t* bins = data_.columns.column(column.column);
    const std::uint32_t* rows = order_.rows(node.run);
    count_bins(rows, node.run.rows(), bins, work_.document, sums);
    if (keeps_) return;
    Cell cells[256] = {};
    for (std::size_t i = 0; i < node.run.rows(); ++i) {
      cells[bins[work_.document ? work_.document[rows[i]] : rows[i]]] += cells_[rows[i]];
    }
    std::memcpy(sums + 256, cells, sizeof cells);
  }

  // Divides every node of the level. If there is another level, the smaller child gets a slot of its own, and the
  // larger one that of its parent; if slots are too few to be kept, all nodes share one.
  void part(const Split& chosen, bool again) {
    const auto left = chosen.left_flags();
    std::vector<Node> below;
    std::vector<std::int64_t> numbers;  // of each node: documents on the left, and without a value; sums of the left
    for (const Node& node : level_) {
      const Parted parted =
          order_.part(node.run, data_.columns.column(chosen.column), work_.document, left.data(), num_threads_);
      const std::size_t middle = node.run.begin + parted.left;
      below.push_back({{node.run.begin, middle, parted.place}}),
          below.push_back({{middle, node.run.end, parted.place}});
      numbers.push_back(static_cast<std::int64_t>(parted.left));
      numbers.push_back(static_cast<std::int64_t>(parted.missing));
      const WideCell sum = keeps_ ? WideCell{} : sum_of(below[below.size() - 2].run);
      numbers.push_back(sum.force), numbers.push_back(sum.curvature);
    }
    if (work_.exchange) add_up(chosen, left, numbers);
    std::size_t lefts = 0, missing = 0, documents = 0;
    const std::size_t first = tree_.nodes.size();
    for (std::size_t k = 0; k < level_.size(); ++k) {
      const Node& node = level_[k];
      Node &low = below[2 * k], &high = below[2 * k + 1];
      low.documents = static_cast<std::size_t>(numbers[4 * k]);
      high.documents = node.documents - low.documents;
      lefts += low.documents, documents += node.documents, missing += static_cast<std::size_t>(numbers[4 * k + 1]);
      low.total = keeps_ ? histograms_.left_total(node.slot, chosen.column, left)
                         : WideCell{numbers[4 * k + 2], numbers[4 * k + 3]};
      high.total = node.total - low.total;
      Node &small = low.documents <= high.documents ? low : high, &large = &small == &low ? high : low;
      large.slot = node.slot;
      large.derived = keeps_;
      small.slot = keeps_ && again ? histograms_.take() : node.slot;
      const double gain = worth(low) + worth(high) - worth(node);
      gains_.push_back(std::max(gain, 0.0));
    }
    // If no document of the level lacks the feature, missing values go to the larger side.
    const bool missing_left = missing > 0 ? chosen.missing_left : 2 * lefts > documents;
    for (std::size_t k = 0; k < level_.size(); ++k) {
      const auto child = static_cast<std::int32_t>(first + level_.size() + 2 * k);
      tree_.nodes.push_back({chosen.column, child, child + 1, chosen.bin, missing_left});
    }
    level_ = std::move(below);
  }

  // Replaces what `part` counts in this worker's rows by the numbers of all workers. They are known if the documents of
  // the column have been counted by bin.
  void add_up(const Split& chosen, const std::array<std::uint8_t, 256>& left,
              std::vector<std::int64_t>& numbers) const {
    const auto same = [&](const ColumnInfo& column) { return column.column == chosen.column; };
    const auto column = std::find_if(columns_.begin(), columns_.end(), same) - columns_.begin();
    const std::vector<std::int64_t>& counts = counts_[static_cast<std::size_t>(column)];
    if (counts.empty()) return sum_over_workers(work_.exchange, numbers);
    for (std::size_t k = 0; k < level_.size(); ++k) {
      const std::int64_t* own = counts.data() + k * counted_width();
      Cell cells[256] = {}, sum{};
      if (!keeps_) std::memcpy(cells, own + 256, sizeof cells);
      std::int64_t lefts = 0;
      for (std::size_t b = 0; b < 256; ++b) {
        if (left[b]) lefts += own[b], sum += cells[b];
      }
      const WideCell total = widened(sum);
      numbers[4 * k] = lefts, numbers[4 * k + 1] = own[kMissingBin];
      numbers[4 * k + 2] = total.force, numbers[4 * k + 3] = total.curvature;
    }
  }

  WideCell sum_of(const RowRun& run) const {
    const std::uint32_t* rows = order_.rows(run);
    Cell sum{};
    for (std::size_t i = 0; i < run.rows(); ++i) sum += cells_[rows[i]];
    return widened(sum);
  }

  double worth(const Node& node) const { return side_worth(node.total, node.documents, settings_.split, work_.units); }

  GrownTree finished() {
    GrownTree grown;
    constexpr double kFree = std::numeric_limits<double>::infinity();
    for (const Node& node :
         level_) {  // one split for all nodes may leave too few documents in some, which give nothing
      const bool few = node.documents < settings_.split.min_documents;
      grown.leaves.push_back(few ? GrownLeaf{0, 0} : GrownLeaf{-kFree, kFree});
    }
    const std::size_t nodes = tree_.nodes.size();
    for (TreeNode& node : tree_.nodes) {  // children behind the last node are leaves
      for (std::int32_t* child : {&node.left, &node.right}) {
        if (static_cast<std::size_t>(*child) >= nodes) *child = ~(*child - static_cast<std::int32_t>(nodes));
      }
    }
    tree_.levels = static_cast<std::uint32_t>(std::bit_width(nodes));
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
  const Cell* const cells_;  // of the rows
  NodeHistograms<Cell> histograms_;
  std::vector<Node> level_;
  std::vector<std::vector<std::int64_t>> counts_;  // by column, of the nodes of the level; empty if not counted
  const Rounding rounding_;
  bool bounds_ = false;  // whether columns are chosen by bounds of their gains
  bool keeps_ = false;   // whether every node of a level has a slot of its own
  Tree tree_;
  std::vector<double> gains_;
};

}  // namespace

template <class Cell>
GrownTree grow_symmetric(const Binned& data, const GrowRows& rows, const GrowSettings& settings, std::uint64_t draw,
                         GrowWorkspace<Cell>& workspace, int num_threads) {
  return Growing<Cell>(data, rows, settings, draw, workspace, num_threads).run();
}

template GrownTree grow_symmetric(const Binned&, const GrowRows&, const GrowSettings&, std::uint64_t,
                                  GrowWorkspace<NarrowCell>&, int);
template GrownTree grow_symmetric(const Binned&, const GrowRows&, const GrowSettings&, std::uint64_t,
                                  GrowWorkspace<WideCell>&, int);

}  // namespace podium
