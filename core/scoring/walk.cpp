#include "scoring/walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "trees/tree.hpp"

namespace podium {
namespace {

constexpr std::size_t kAbreast = 8;  // walks that go side by side
constexpr std::size_t kStride = 4;   // steps between two checks whether all have arrived

template <class Field>
constexpr Field missing_right_bit = static_cast<Field>(Field{1} << (std::numeric_limits<Field>::digits - 1));

bool any_missing(const float* values, std::size_t count) {
  bool any = false;
  for (std::size_t i = 0; i < count; ++i) any |= values[i] != values[i];
  return any;
}

}  // namespace

WalkTrees::WalkTrees(const ForestArrays& arrays, const CategoryTable& categories, std::size_t n_features)
    : n_features_(n_features), categories_(categories), sets_(arrays.sets.begin(), arrays.sets.end()) {
  std::size_t most = 0;
  for (std::size_t t = 0; t < arrays.trees(); ++t) {
    const TreeSpan tree(arrays, t);
    most = std::max(most, tree.nodes + tree.leaves());
  }
  const bool small = n_features <= std::size_t{1} << 15 && most <= std::size_t{1} << 16 && arrays.sets.empty();
  if (small) {
    compile(arrays, small_);
  } else {
    compile(arrays, large_);
  }
  std::stable_sort(by_depth_.begin(), by_depth_.end(),
                   [](const Walked& a, const Walked& b) { return a.depth < b.depth; });
  place_.resize(by_depth_.size());
  for (std::size_t k = 0; k < by_depth_.size(); ++k) place_[by_depth_[k].tree] = k;
}

// Lays out the records of every tree level by level, so that the children of a node are next to each other.
template <class Record>
void WalkTrees::compile(const ForestArrays& arrays, std::vector<Record>& records) {
  using Feature = decltype(Record::feature);
  using Child = decltype(Record::left);
  for (std::size_t t = 0; t < arrays.trees(); ++t) {
    const TreeSpan tree(arrays, t);
    const std::size_t first = records.size();
    std::vector<std::int32_t> order{tree.nodes == 0 ? -1 : 0};
    std::vector<std::uint32_t> depth{0};
    for (std::size_t k = 0; k < order.size(); ++k) {
      Record record{};
      if (order[k] < 0) {
        record.threshold = std::numeric_limits<float>::infinity();
        record.left = static_cast<Child>(k);
        if constexpr (std::is_same_v<Record, Large>) record.set = -1;
        leaf_of_.push_back(static_cast<std::uint32_t>(~order[k]));
      } else {
        const std::size_t n = tree.first_node + static_cast<std::size_t>(order[k]);
        record.threshold = arrays.threshold[n];
        record.feature = static_cast<Feature>(static_cast<Feature>(arrays.feature[n]) |
                                              (arrays.missing_left[n] ? Feature{0} : missing_right_bit<Feature>));
        record.left = static_cast<Child>(order.size());
        if constexpr (std::is_same_v<Record, Large>) record.set = arrays.set[n];
        for (const std::int32_t child : {arrays.left[n], arrays.right[n]}) {
          order.push_back(child);
          depth.push_back(depth[k] + 1);
        }
        leaf_of_.push_back(0);
      }
      records.push_back(record);
    }
    by_depth_.push_back({first, static_cast<std::uint32_t>(t), depth.back()});
    steps_ += depth.back();
  }
}

bool WalkTrees::goes_right(const Large& record, float value) const {
  constexpr std::uint32_t bit = missing_right_bit<std::uint32_t>;
  if (record.set < 0) return std::isnan(value) ? (record.feature & bit) != 0 : value > record.threshold;
  const std::uint8_t bin = categories_.find(record.feature & ~bit)->bin(value);
  const std::size_t word = 4 * static_cast<std::size_t>(record.set) + (bin >> 6);
  return !(sets_[word] >> (bin & 63) & 1);
}

// One document through all trees: step(record) says whether it goes right.
template <class Record, class Step>
void WalkTrees::walk_document(const std::vector<Record>& records, std::span<std::uint32_t> leaf, Step step) const {
  for (std::size_t first = 0; first < by_depth_.size(); first += kAbreast) {
    const std::size_t abreast = std::min(kAbreast, by_depth_.size() - first);
    const Record* root[kAbreast];
    std::uint32_t at[kAbreast] = {};
    for (std::size_t i = 0; i < kAbreast; ++i) {
      root[i] = records.data() + by_depth_[first + std::min(i, abreast - 1)].first;
    }
    for (std::uint32_t depth = by_depth_[first + abreast - 1].depth; depth > 0;) {
      const std::uint32_t steps = std::min<std::uint32_t>(depth, kStride);
      for (std::uint32_t s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < kAbreast; ++i) {
          const Record& record = root[i][at[i]];
          at[i] = record.left + static_cast<std::uint32_t>(step(record));
        }
      }
      depth -= steps;
      bool arrived = true;
      for (std::size_t i = 0; i < kAbreast; ++i) arrived &= root[i][at[i]].left == at[i];
      if (arrived) break;
    }
    for (std::size_t i = 0; i < abreast; ++i) {
      const Walked& walked = by_depth_[first + i];
      leaf[walked.tree] = leaf_of_[walked.first + at[i]];
    }
  }
}

void WalkTrees::leaves_of_document(const float* row, std::span<std::uint32_t> leaf) const {
  constexpr std::uint16_t bit = missing_right_bit<std::uint16_t>;
  if (!large_.empty()) {
    constexpr std::uint32_t wide_bit = missing_right_bit<std::uint32_t>;
    return walk_document(large_, leaf, [&](const Large& r) { return goes_right(r, row[r.feature & ~wide_bit]); });
  }
  if (!any_missing(row, n_features_)) {
    return walk_document(
        small_, leaf, [&](const Small& r) { return row[r.feature & static_cast<std::uint16_t>(~bit)] > r.threshold; });
  }
  walk_document(small_, leaf, [&](const Small& r) {
    const float value = row[r.feature & static_cast<std::uint16_t>(~bit)];
    return (value > r.threshold) | ((value != value) & (r.feature >= bit));
  });
}

// Documents through one tree: step(record, document) says whether a document goes right.
template <class Record, class Step>
void WalkTrees::walk_tree(const Record* records, std::size_t first, std::size_t depth, std::size_t count,
                          std::uint32_t* leaf, Step step) const {
  for (std::size_t begin = 0; begin < count; begin += kAbreast) {
    const std::size_t abreast = std::min(kAbreast, count - begin);
    std::uint32_t at[kAbreast] = {};
    for (std::size_t left = depth; left > 0;) {
      const std::size_t steps = std::min(left, kStride);
      for (std::size_t s = 0; s < steps; ++s) {
        for (std::size_t i = 0; i < abreast; ++i) {
          const Record& record = records[at[i]];
          at[i] = record.left + static_cast<std::uint32_t>(step(record, begin + i));
        }
      }
      left -= steps;
      bool arrived = true;
      for (std::size_t i = 0; i < abreast; ++i) arrived &= records[at[i]].left == at[i];
      if (arrived) break;
    }
    for (std::size_t i = 0; i < abreast; ++i) leaf[begin + i] = leaf_of_[first + at[i]];
  }
}

void WalkTrees::leaves_in_tree(std::size_t t, const float* rows, std::size_t count, std::uint32_t* leaf) const {
  const Walked& walked = by_depth_[place_[t]];
  if (!large_.empty()) {
    constexpr std::uint32_t bit = missing_right_bit<std::uint32_t>;
    return walk_tree(
        large_.data() + walked.first, walked.first, walked.depth, count, leaf,
        [&](const Large& r, std::size_t i) { return goes_right(r, rows[i * n_features_ + (r.feature & ~bit)]); });
  }
  constexpr std::uint16_t bit = missing_right_bit<std::uint16_t>;
  walk_tree(small_.data() + walked.first, walked.first, walked.depth, count, leaf, [&](const Small& r, std::size_t i) {
    const float value = rows[i * n_features_ + (r.feature & static_cast<std::uint16_t>(~bit))];
    return (value > r.threshold) | ((value != value) & (r.feature >= bit));
  });
}

}  // namespace podium
