#include "trees/boost.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <variant>

#include "random.hpp"
#include "trees/fixed_point.hpp"
#include "trees/pick.hpp"
#include "trees/running_cells.hpp"
#include "trees/symmetric.hpp"
#include "unreachable.hpp"

namespace podium {
namespace {

constexpr std::size_t kTile = Binner::kTile;
constexpr std::size_t kTiles = 128;  // per piece of work
constexpr std::size_t kStep = 2048;  // documents to which the trees of a step are added at a time

template <class Body>
void pieces(int num_threads, std::size_t count, Body&& body) {
  parallel_for(count, count > 4 * kTiles * kTile ? num_threads : 1, kTiles * kTile, body);
}

// The largest numbers, and whether trees can take all of them. Several are compared at a time, because one after the
// other each would wait for the one before.
bool measure(std::span<const double> force, std::span<const double> curvature, Extent& most) {
  constexpr std::size_t kAtOnce = 4;
  using Pair = Doubles<2>;
  const Pair zero = {};
  Pair forces[kAtOnce] = {}, curvatures[kAtOnce] = {}, least[kAtOnce] = {}, sums[kAtOnce] = {};
  for (std::size_t i = 0; i < force.size(); i += 2) {
    Pair f = {}, c = {};
    const std::size_t at = i / 2 % kAtOnce;
    if (i + 1 < force.size()) {
      std::memcpy(&f, force.data() + i, sizeof f), std::memcpy(&c, curvature.data() + i, sizeof c);
    } else {
      f[0] = force[i], c[0] = curvature[i];
    }
    const Pair negative = zero - f;
    f = f > negative ? f : negative;
    forces[at] = f > forces[at] ? f : forces[at], curvatures[at] = c > curvatures[at] ? c : curvatures[at];
    least[at] = c < least[at] ? c : least[at];
    sums[at] += f + c;  // NaN if any of them is, which comparisons do not detect
  }
  double lowest = 0, sum = 0;
  for (std::size_t at = 0; at < kAtOnce; ++at) {
    for (std::size_t lane = 0; lane < 2; ++lane) {
      most = {std::max(most.force, forces[at][lane]), std::max(most.curvature, curvatures[at][lane])};
      lowest = std::min(lowest, least[at][lane]), sum += sums[at][lane];
    }
  }
  return most.force <= kLargestForce && most.curvature <= kLargestForce && lowest >= 0 && !std::isnan(sum);
}

Extent largest(int num_threads, std::span<const double> force, std::span<const double> curvature) {
  Extent out;
  std::mutex mutex;
  pieces(num_threads, force.size(), [&](std::size_t begin, std::size_t end) {
    Extent own;
    if (!measure(force.subspan(begin, end - begin), curvature.subspan(begin, end - begin), own)) {
      throw ForceRangeError();
    }
    const std::lock_guard lock(mutex);
    out = {std::max(out.force, own.force), std::max(out.curvature, own.curvature)};
  });
  return out;
}

// The largest of all workers.
Extent agreed(Exchange* exchange, const Extent& own) {
  double numbers[] = {own.force, own.curvature};
  if (exchange) exchange->combine({}, numbers);
  return {numbers[0], numbers[1]};
}

// Of the documents of a leaf.
struct LeafSums {
  WideCell sums{};
  std::int64_t documents = 0;
};

}  // namespace

// What growing a tree needs, lent to one tree after the other.
struct Booster::Memory {
  std::vector<ByteStore> bins;  // of the sampled documents, as are the next two
  std::vector<double> sampled_force, sampled_curvature;
  Sample sample;
  std::variant<GrowWorkspace<NarrowCell>, GrowWorkspace<WideCell>> workspace;  // of the kind of cell used last
  std::vector<double> force, curvature;
};

// The tree of a forest that was grown last.
struct Booster::Last {
  std::vector<std::uint32_t> leaf;  // of every training document
  std::uint64_t serial = 0;
};

// Growing one tree.
class Booster::Growing {
 public:
  Growing(const Booster& booster, Memory& memory, Last& last, const BoostSettings& settings, int num_threads)
      : booster_(booster),
        data_(booster.data_),
        memory_(memory),
        last_(last),
        settings_(settings),
        num_threads_(num_threads),
        exchange_(booster.exchange_.get()) {}

  BoostedTree run(std::span<const double> force, std::span<const double> curvature, std::uint64_t draw) {
    const Extent most = agreed(exchange_, largest(num_threads_, force, curvature));
    GrowRows rows;
    rows.exchange = exchange_;
    const Forces forces = choose_rows(force, curvature, most, draw, rows);
    // All workers choose the same kind of cell, because the number of documents is that of all of them.
    const bool wide = rows.documents >= booster_.wide_cell_documents_;
    const std::uint64_t tree_draw = splitmix64(draw ^ 0xA24BAED4963EE407);
    GrownTree grown = wide ? grow<WideCell>(forces, rows, tree_draw) : grow<NarrowCell>(forces, rows, tree_draw);
    BoostedTree tree;
    set_values(force, curvature, most, grown, tree);
    tree.tree = std::move(grown.tree), tree.gains = std::move(grown.gains);
    return tree;
  }

 private:
  // Of the rows from which the tree is grown.
  struct Forces {
    const double *force, *curvature;
    Extent most;  // of all workers
  };

  template <class Cell>
  GrownTree grow(const Forces& forces, GrowRows& rows, std::uint64_t draw) {
    const GrowSettings& settings = settings_.grow;
    auto* workspace = std::get_if<GrowWorkspace<Cell>>(&memory_.workspace);
    if (workspace == nullptr) workspace = &memory_.workspace.template emplace<GrowWorkspace<Cell>>();
    fill(forces, rows, workspace->histograms.cells);
    switch (settings.growth) {
      case Growth::leaf:
      case Growth::depth:
        return grow_tree(data_, rows, settings, draw, *workspace, num_threads_);
      case Growth::symmetric:
        return grow_symmetric(data_, rows, settings, draw, *workspace, num_threads_);
    }
    unreachable();
  }

  Forces choose_rows(std::span<const double> force, std::span<const double> curvature, const Extent& most,
                     std::uint64_t draw, GrowRows& rows) {
    const SampleSettings& settings = settings_.sample;
    const bool fewer_columns = settings.column_sampling < 1;
    const bool fewer_rows = settings.row_sampling < 1 || settings.query_sampling < 1;
    if (fewer_columns) {
      rows.chosen.assign(data_.used.size(), 0);
      for (const std::uint32_t j : sample_columns(data_.used, settings.column_sampling, splitmix64(draw ^ 1))) {
        rows.chosen[j] = 1;
      }
    }
    if (fewer_rows) {
      sample_rows(force, curvature, most, settings, booster_.keys_, booster_.query_keys_, booster_.query_offsets_,
                  splitmix64(draw ^ 2), memory_.sample, exchange_, booster_.documents_, num_threads_);
      rows.rows = memory_.sample.count;
      rows.document = memory_.sample.rows.data();
    } else {
      rows.rows = data_.rows;
      rows.documents = booster_.documents_;
    }
    if (fewer_rows || fewer_columns) {
      copy_rows(rows);
    } else {
      for (const RowBlock& block : data_.blocks) {
        rows.blocks.push_back({block.bins.data(), block.first, block.count, block.stride});
      }
      for (const Code& code : data_.codes) rows.codes.push_back(&code);
    }
    return fewer_rows ? weigh_sample(force, curvature, rows) : Forces{force.data(), curvature.data(), most};
  }

  // The kept rows with their weights, one after the other; counts those of all workers.
  Forces weigh_sample(std::span<const double> force, std::span<const double> curvature, GrowRows& rows) {
    const Sample& sample = memory_.sample;
    memory_.sampled_force.resize(rows.rows), memory_.sampled_curvature.resize(rows.rows);
    Extent largest_kept;
    std::mutex mutex;
    pieces(num_threads_, rows.rows, [&](std::size_t begin, std::size_t end) {
      Extent own;
      for (std::size_t i = begin; i < end; ++i) {
        const double weight = sample.weight.empty() ? 1.0 : sample.weight[i];
        memory_.sampled_force[i] = force[sample.rows[i]] * weight,
        memory_.sampled_curvature[i] = curvature[sample.rows[i]] * weight;
        own.force = std::max(own.force, std::fabs(memory_.sampled_force[i]));
        own.curvature = std::max(own.curvature, memory_.sampled_curvature[i]);
      }
      const std::lock_guard lock(mutex);
      largest_kept = {std::max(largest_kept.force, own.force), std::max(largest_kept.curvature, own.curvature)};
    });
    auto documents = static_cast<std::int64_t>(rows.rows);
    double largest[] = {largest_kept.force, largest_kept.curvature};
    if (rows.exchange) rows.exchange->combine({&documents, 1}, largest);
    rows.documents = static_cast<std::size_t>(documents);
    return {memory_.sampled_force.data(), memory_.sampled_curvature.data(), {largest[0], largest[1]}};
  }

  template <class Cell>
  void fill(const Forces& forces, GrowRows& rows, std::vector<Cell>& cells) {
    const auto& [force, curvature, most] = forces;
    cells.resize(rows.rows);
    const std::size_t n = rows.documents;  // of all workers: the units must be the same
    const int force_exponent = sum_exponent(most.force, n), curvature_exponent = sum_exponent(most.curvature, n);
    const double force_scale = std::ldexp(1.0, force_exponent), curvature_scale = std::ldexp(1.0, curvature_exponent);
    std::atomic<std::int64_t> force_sum{0}, curvature_sum{0};
    pieces(num_threads_, rows.rows, [&](std::size_t begin, std::size_t end) {
      std::int64_t f = 0, c = 0;
      for (std::size_t i = begin; i < end; ++i) {
        f += to_fixed(std::fabs(force[i]), force_scale);
        c += to_fixed(curvature[i], curvature_scale);
      }
      force_sum += f, curvature_sum += c;
    });
    std::int64_t sums[] = {force_sum, curvature_sum};
    sum_over_workers(rows.exchange, sums);
    const auto bound = [&](std::int64_t sum, int exponent) {
      return std::ldexp(static_cast<double>(sum) + static_cast<double>(n), -exponent);
    };
    const int f = cell_exponent(most.force > 0 ? bound(sums[0], force_exponent) : 0, n, kCellBits<Cell>);
    const int c = cell_exponent(most.curvature > 0 ? bound(sums[1], curvature_exponent) : 0, n, kCellBits<Cell>);
    rows.units = {std::ldexp(1.0, -f), std::ldexp(1.0, -c)};
    const double to_force = std::ldexp(1.0, f), to_curvature = std::ldexp(1.0, c);
    std::mutex mutex;
    pieces(num_threads_, rows.rows, [&](std::size_t begin, std::size_t end) {
      Cell sum{};
      for (std::size_t i = begin; i < end; ++i) {
        cells[i] = make_cell<Cell>(to_fixed(force[i], to_force), to_fixed(curvature[i], to_curvature));
        sum += cells[i];
      }
      const std::lock_guard lock(mutex);
      rows.total += widened(sum);
    });
  }

  // The kept rows, one after the other, in blocks of the codes that hold a kept column.
  void copy_rows(GrowRows& rows) {
    memory_.bins.resize(data_.blocks.size());
    const auto is_chosen = [&](const Code& code) {
      return rows.chosen.empty() || std::any_of(code.parts.begin(), code.parts.end(),
                                                [&](const Code::Part& part) { return rows.chosen[part.column] != 0; });
    };
    for (std::size_t k = 0; k < data_.blocks.size(); ++k) {
      const RowBlock& from = data_.blocks[k];
      std::vector<std::uint32_t> places;  // of the chosen codes in the block
      const std::size_t first = rows.codes.size();
      for (std::size_t c = 0; c < from.count; ++c) {
        if (!is_chosen(data_.codes[from.first + c])) continue;
        places.push_back(static_cast<std::uint32_t>(c));
        rows.codes.push_back(&data_.codes[from.first + c]);
      }
      const std::size_t count = places.size(), stride = row_stride(count);
      if (count == 0) continue;
      if (memory_.bins[k].size() < rows.rows * stride) {
        memory_.bins[k] = {};  // the old one first, so that there is only one of them
        memory_.bins[k] = ByteStore(rows.rows * stride, booster_.folder_);
      }
      rows.blocks.push_back({memory_.bins[k].data(), first, count, stride});
      std::uint8_t* to = memory_.bins[k].data();
      const bool whole = count == from.count;
      const BytePicker picker(places, from.stride);
      pieces(num_threads_, rows.rows, [&](std::size_t begin, std::size_t end) {
        if (!whole) return picker.copy(from.bins.data(), rows.document, begin, end, to, stride);
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t document = rows.document ? rows.document[i] : i;
          if (rows.document && i + 16 < end) __builtin_prefetch(from.bins.data() + rows.document[i + 16] * from.stride);
          std::memcpy(to + i * stride, from.bins.data() + document * from.stride, count);
        }
      });
    }
  }

  void set_values(std::span<const double> force, std::span<const double> curvature, const Extent& most,
                  const GrownTree& grown, BoostedTree& tree) {
    const std::size_t n = data_.rows, leaves = grown.leaves.size();
    last_.leaf.resize((n + kTile - 1) / kTile * kTile);
    const int force_exponent = sum_exponent(most.force, booster_.documents_);
    const int curvature_exponent = sum_exponent(most.curvature, booster_.documents_);
    const double force_scale = std::ldexp(1.0, force_exponent), curvature_scale = std::ldexp(1.0, curvature_exponent);
    std::vector<std::int64_t> sums(3 * leaves);  // force, curvature and documents of each leaf
    std::mutex mutex;
    const std::size_t tiles = data_.columns.tiles();
    parallel_for(tiles, tiles > 4 * kTiles ? num_threads_ : 1, kTiles, [&](std::size_t begin, std::size_t end) {
      // Of even and of odd rows, so that neighbors in one leaf do not wait for each other.
      std::vector<LeafSums> own(2 * leaves);
      RouteScratch scratch;
      WideCell fixed[kTile];
      for (std::size_t tile = begin; tile < end; ++tile) {
        const std::size_t row = tile * kTile, count = std::min(kTile, n - row);
        const std::uint32_t* leaf = last_.leaf.data() + row;
        route_tile(grown.tree, data_.columns, row, scratch, last_.leaf.data() + row);
        for (std::size_t i = 0; i < count; ++i) {
          fixed[i] = {to_fixed(force[row + i], force_scale), to_fixed(curvature[row + i], curvature_scale)};
        }
        for (std::size_t i = 0; i < count; ++i) {
          LeafSums& sum = own[2 * leaf[i] + i % 2];
          sum.sums += fixed[i];
          ++sum.documents;
        }
      }
      const std::lock_guard lock(mutex);
      for (std::size_t k = 0; k < own.size(); ++k) {
        std::int64_t* leaf = sums.data() + 3 * (k / 2);
        leaf[0] += own[k].sums.force, leaf[1] += own[k].sums.curvature, leaf[2] += own[k].documents;
      }
    });
    sum_over_workers(exchange_, sums);
    for (std::size_t k = 0; k < leaves; ++k) {
      const double f = std::ldexp(static_cast<double>(sums[3 * k]), -force_exponent);
      const double c = std::ldexp(static_cast<double>(sums[3 * k + 1]), -curvature_exponent);
      const double value = c >= settings_.grow.split.min_curvature ? leaf_value(f, c, settings_.grow.split) : 0.0;
      tree.values.push_back(settings_.learning_rate * std::clamp(value, grown.leaves[k].low, grown.leaves[k].high));
      tree.forces.push_back(f);
      tree.documents.push_back(sums[3 * k + 2]);
    }
  }

  const Booster& booster_;
  const Binned& data_;
  Memory& memory_;
  Last& last_;
  const BoostSettings& settings_;
  const int num_threads_;
  Exchange* const exchange_;
};

Booster::Booster(std::vector<FeatureBins> features, std::span<const std::int64_t> query_offsets,
                 std::span<const std::uint64_t> query_keys, bool share_bytes, std::size_t wide_cell_documents,
                 std::string folder, int num_threads)
    : features_(std::move(features)),
      num_threads_(num_threads),
      folder_(std::move(folder)),
      wide_cell_documents_(wide_cell_documents),
      data_(make_binned(static_cast<std::size_t>(query_offsets.back()), features_, share_bytes, folder_)),
      binner_(features_),
      documents_(data_.rows),
      query_offsets_(query_offsets.begin(), query_offsets.end()),
      query_keys_(query_keys.begin(), query_keys.end()),
      keys_(data_.rows) {
  for (std::size_t q = 0; q < query_keys.size(); ++q) {
    const auto begin = static_cast<std::size_t>(query_offsets[q]), end = static_cast<std::size_t>(query_offsets[q + 1]);
    for (std::size_t i = begin; i < end; ++i) keys_[i] = splitmix64(splitmix64(query_keys[q]) ^ (i - begin));
  }
}

void Booster::append(const FeatureTable& table) {
  bin_rows(table, binner_, appended_, data_, num_threads_);
  appended_ += table.rows;
}

void Booster::join(std::shared_ptr<Exchange> exchange) {
  std::vector<std::int64_t> numbers(data_.missing.begin(), data_.missing.end());
  numbers.push_back(static_cast<std::int64_t>(data_.rows));
  exchange->combine(numbers, {});
  for (std::size_t j = 0; j < data_.missing.size(); ++j) data_.missing[j] = numbers[j] > 0;
  documents_ = static_cast<std::size_t>(numbers.back());
  exchange_ = std::move(exchange);
}

Booster::~Booster() = default;

Booster::Last& Booster::last(std::size_t forest) {
  while (last_.size() <= forest) last_.push_back(std::make_unique<Last>());
  return *last_[forest];
}

BoostedTree Booster::grow(std::span<const double> force, std::span<const double> curvature,
                          const BoostSettings& settings, std::uint64_t draw) {
  const ScratchPool<Memory>::Loan memory(memories_);
  Last& own = last(0);
  own.serial = 0;
  BoostedTree tree = Growing(*this, *memory, own, settings, num_threads_).run(force, curvature, draw);
  tree.serial = own.serial = ++grown_;
  return tree;
}

std::vector<BoostedTree> Booster::grow_forests(const FindForce& find_force, const BoostSettings& settings,
                                               std::span<const std::uint64_t> draws) {
  const std::size_t forests = draws.size();
  last(forests - 1);
  const int each = std::max(1, num_threads_ / static_cast<int>(forests));
  std::vector<BoostedTree> trees(forests);
  parallel_for(forests, num_threads_, 1, [&](std::size_t begin, std::size_t end) {
    const ScratchPool<Memory>::Loan loan(memories_);
    Memory& memory = *loan;
    memory.force.resize(data_.rows), memory.curvature.resize(data_.rows);
    for (std::size_t forest = begin; forest < end; ++forest) {
      last_[forest]->serial = 0;
      find_force(forest, each, memory.force, memory.curvature);
      trees[forest] =
          Growing(*this, memory, *last_[forest], settings, each).run(memory.force, memory.curvature, draws[forest]);
    }
  });
  for (std::size_t forest = 0; forest < forests; ++forest) trees[forest].serial = last_[forest]->serial = ++grown_;
  return trees;
}

void Booster::bin(const FeatureTable& table, std::size_t first, BinColumns& columns) const {
  bin_columns(table, binner_, data_.used, first, columns, num_threads_);
}

// What is known of the tree if it is the last of its forest, or null.
const Booster::Last* Booster::last_of(const BoostedTree& tree) const {
  const auto found =
      std::ranges::find_if(last_, [&](const auto& last) { return tree.serial != 0 && last->serial == tree.serial; });
  return found == last_.end() ? nullptr : found->get();
}

// Some documents at a time, whose scores stay in the cache while all trees are added.
void Booster::add_step(std::span<const BoostedTree* const> trees, double share, std::span<double* const> own,
                       double* scores) {
  std::vector<const Last*> last;
  for (const BoostedTree* const tree : trees) last.push_back(last_of(*tree));
  if (std::ranges::count(last, nullptr) > 0) {
    for (std::size_t k = 0; k < trees.size(); ++k) add(*trees[k], share, scores, 1);
    for (std::size_t k = 0; k < own.size(); ++k) add(*trees[k], 1.0, own[k], 1);
    return;
  }
  const int threads = trees.size() * data_.rows > 4 * kTiles * kTile ? num_threads_ : 1;
  parallel_for(data_.rows, threads, kStep, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = 0; k < trees.size(); ++k) {
      const double* const values = trees[k]->values.data();
      const std::uint32_t* const leaf = last[k]->leaf.data();
      for (std::size_t i = begin; i < end; ++i) scores[i] += share * values[leaf[i]];
      if (own.empty()) continue;
      for (std::size_t i = begin; i < end; ++i) own[k][i] += values[leaf[i]];
    }
  });
}

void Booster::add(const BoostedTree& tree, double scale, double* scores, std::size_t stride) {
  const Last* const found = last_of(tree);
  if (found == nullptr) return add(tree, data_.columns, scale, scores, stride);
  const std::uint32_t* const leaf = found->leaf.data();
  pieces(num_threads_, data_.rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) scores[i * stride] += scale * tree.values[leaf[i]];
  });
}

void Booster::add(const BoostedTree& tree, const BinColumns& columns, double scale, double* scores,
                  std::size_t stride) {
  const std::size_t tiles = columns.tiles();
  parallel_for(tiles, tiles > 4 * kTiles ? num_threads_ : 1, kTiles, [&](std::size_t begin, std::size_t end) {
    RouteScratch scratch;
    std::uint32_t leaf[kTile];
    for (std::size_t tile = begin; tile < end; ++tile) {
      const std::size_t row = tile * kTile, count = std::min(kTile, columns.rows() - row);
      route_tile(tree.tree, columns, row, scratch, leaf);
      for (std::size_t i = 0; i < count; ++i) scores[(row + i) * stride] += scale * tree.values[leaf[i]];
    }
  });
}

}  // namespace podium
