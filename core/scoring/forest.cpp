#include "scoring/forest.hpp"

#include <algorithm>
#include <stdexcept>

#include "parallel.hpp"

namespace podium {
namespace {

constexpr std::size_t kThreadWork = 50'000;  // documents × trees for which another thread pays

const ForestArrays& checked(const ForestArrays& arrays, std::size_t n_features, std::span<const double> start) {
  if (start.empty()) throw std::invalid_argument("a forest needs at least one output");
  check_forest(arrays, n_features);
  return arrays;
}

// The features of documents side by side, in memory of its own unless they lie like that already.
template <class T>
const float* plain_rows(const ScoreTable<T>& table, std::size_t row, std::size_t count, std::vector<float>& room) {
  if constexpr (std::is_same_v<T, float>) {
    if (table.column_stride == 1 && table.row_stride == static_cast<std::ptrdiff_t>(table.features)) {
      return table.row(row);
    }
  }
  room.resize(count * table.features);
  for (std::size_t i = 0; i < count; ++i) {
    const T* values = table.row(row + i);
    for (std::size_t f = 0; f < table.features; ++f, values += table.column_stride) {
      room[i * table.features + f] = static_cast<float>(*values);
    }
  }
  return room.data();
}

// The sum of two floats, computed in doubles and rounded to a float, is the one that floats would have given: a double
// has more than twice the digits.
void round_to_floats(double* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(values[i]);
}

}  // namespace

Forest::Forest(const ForestArrays& arrays, std::size_t n_features, std::span<const double> start, Sums sums)
    : n_features_(n_features),
      start_(start.begin(), start.end()),
      sums_(sums),
      categories_(checked(arrays, n_features, start), n_features),
      value_(arrays.value.begin(), arrays.value.end()),
      walk_(arrays, categories_, n_features) {
  for (std::size_t t = 0; t < arrays.trees(); ++t) first_leaf_.push_back(TreeSpan(arrays, t).first_leaf);
  compile(arrays);
}

void Forest::compile(const ForestArrays& arrays) {
  const std::size_t trees = arrays.trees();
  std::vector<std::size_t> blended;  // parts
  for (std::size_t first = 0; first < trees;) {
    std::size_t last = first;
    while (last < trees && fits_blend(arrays, last)) ++last;
    if (last > first) {
      BlendTrees blend(arrays, categories_, n_features_, first, last);
      if (blend.last() > first) {
        columns_ = std::max(columns_, blend.columns());
        blended.push_back(parts_.size());
        parts_.push_back({first, blend.last(), nullptr});
        first = blend.last();
        blends_.push_back(std::move(blend));
        continue;
      }
    }
    walks_ = true;
    parts_.push_back({first, first + 1, nullptr});
    ++first;
  }
  std::size_t comparisons = 0;
  for (std::size_t k = 0; k < blended.size(); ++k) {
    parts_[blended[k]].blend = &blends_[k];
    comparisons += blends_[k].comparisons();
  }
  // A step of a walk takes about as long as a comparison of vectors.
  if (!walks_) few_ = std::clamp<std::size_t>(comparisons / (walk_.steps() + 1), 1, 64);
}

// Up to a block of documents, on its way through the parts of a forest.
class Forest::Block {
 public:
  Block(const Forest& forest, std::size_t documents) : forest_(forest), scratch_(forest.columns_, documents) {}

  // Calls take(part, documents) for every part, with the documents ready to be routed through it.
  template <class T, class Take>
  void run(const ScoreTable<T>& table, std::size_t row, std::size_t count, Take&& take) {
    if (forest_.walks_) rows_ = plain_rows(table, row, count, room_);
    for (const Part& part : forest_.parts_) {
      if (part.blend) part.blend->bin(table, row, count, scratch_);
      take(part);
    }
  }
  void add(const Part& part, std::size_t t, std::size_t count, double* scores) {
    if (part.blend) return part.blend->add(t, count, scratch_, scores);
    const double* values = forest_.value_.data() + forest_.first_leaf_[t];
    forest_.walk_.leaves_in_tree(t, rows_, count, leaf_);
    for (std::size_t i = 0; i < count; ++i) scores[i] += values[leaf_[i]];
  }
  void leaves(const Part& part, std::size_t t, std::size_t count, std::int32_t* out, std::size_t stride) {
    if (part.blend) return part.blend->leaves(t, count, scratch_, out, stride);
    forest_.walk_.leaves_in_tree(t, rows_, count, leaf_);
    for (std::size_t i = 0; i < count; ++i) out[i * stride] = static_cast<std::int32_t>(leaf_[i]);
  }

 private:
  const Forest& forest_;
  BlendScratch scratch_;
  std::vector<float> room_;
  const float* rows_ = nullptr;
  std::uint32_t leaf_[kBlockRows];
};

// Calls take(block, first document, documents) for blocks of documents, on several threads if there is enough to do.
template <class T, class Take>
void Forest::for_each_block(const ScoreTable<T>& table, int num_threads, Take&& take) const {
  const std::size_t work = table.rows * std::max<std::size_t>(trees(), 1);
  const auto threads =
      std::clamp<std::size_t>(work / kThreadWork, 1, static_cast<std::size_t>(std::max(num_threads, 1)));
  const std::size_t share = (table.rows + threads - 1) / threads;
  const std::size_t rows = std::min(kBlockRows, (share + 63) / 64 * 64), blocks = (table.rows + rows - 1) / rows;
  const std::size_t grain = std::clamp<std::size_t>(blocks / (8 * threads), 1, 64);
  parallel_for(blocks, static_cast<int>(threads), grain, [&](std::size_t begin, std::size_t end) {
    Block block(*this, std::min(rows, table.rows));
    for (std::size_t b = begin; b < end; ++b) take(block, b * rows, std::min(rows, table.rows - b * rows));
  });
}

template <class T>
void Forest::score_few(const ScoreTable<T>& table, std::span<double> out) const {
  std::vector<float> room;
  std::vector<std::uint32_t> leaf(trees());
  for (std::size_t i = 0; i < table.rows; ++i) {
    walk_.leaves_of_document(plain_rows(table, i, 1, room), leaf);
    double* to = out.data() + i * outputs();
    std::copy(start_.begin(), start_.end(), to);
    for (std::size_t t = 0, output = 0; t < trees(); ++t) {
      to[output] += value_[first_leaf_[t] + leaf[t]];
      if (sums_ == Sums::kFloat) to[output] = static_cast<float>(to[output]);
      if (++output == outputs()) output = 0;
    }
  }
}

template <class T>
void Forest::scores(const ScoreTable<T>& table, std::span<double> out, int num_threads) const {
  if (table.rows <= few_) return score_few(table, out);
  for_each_block(table, num_threads, [&](Block& block, std::size_t row, std::size_t count) {
    std::vector<double> sums(outputs() * kBlockRows);
    for (std::size_t k = 0; k < outputs(); ++k) std::fill_n(sums.data() + k * kBlockRows, kBlockRows, start_[k]);
    block.run(table, row, count, [&](const Part& part) {
      for (std::size_t t = part.first; t < part.last; ++t) {
        double* to = sums.data() + t % outputs() * kBlockRows;
        block.add(part, t, count, to);
        if (sums_ == Sums::kFloat) round_to_floats(to, count);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < outputs(); ++k) out[(row + i) * outputs() + k] = sums[k * kBlockRows + i];
    }
  });
}

template <class T>
void Forest::leaves(const ScoreTable<T>& table, std::span<std::int32_t> out, int num_threads) const {
  for_each_block(table, num_threads, [&](Block& block, std::size_t row, std::size_t count) {
    block.run(table, row, count, [&](const Part& part) {
      for (std::size_t t = part.first; t < part.last; ++t) {
        block.leaves(part, t, count, out.data() + row * trees() + t, trees());
      }
    });
  });
}

template void Forest::scores(const ScoreTable<float>&, std::span<double>, int) const;
template void Forest::scores(const ScoreTable<double>&, std::span<double>, int) const;
template void Forest::leaves(const ScoreTable<float>&, std::span<std::int32_t>, int) const;
template void Forest::leaves(const ScoreTable<double>&, std::span<std::int32_t>, int) const;

}  // namespace podium
