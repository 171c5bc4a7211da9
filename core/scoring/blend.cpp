#include "scoring/blend.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <stdexcept>

#include "scoring/blend_kernels.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace podium {
namespace {

constexpr std::size_t kMostThresholds = kMostBins - 1;  // of a feature, so that bins are bytes
constexpr std::size_t kCacheLineBytes = 64;
constexpr std::size_t kMostLeavesInRegisters = 64;

using Kernel = void (*)(const BlendNode* nodes, std::size_t count, const BinSetBytes* sets, const std::uint8_t* bins,
                        std::uint8_t* answers);
using AddValues = void (*)(const std::uint8_t* leaf, const double* values, std::size_t count, double* scores);

template <std::size_t kVectors>
void blend_portable(const BlendNode* nodes, std::size_t count, const BinSetBytes* sets, const std::uint8_t* bins,
                    std::uint8_t* answers) {
  blend_tree<32, kVectors>(nodes, count, sets, bins, answers, look_up_portable);
}
template <std::size_t kVectors>
void levels_portable(const BlendNode* nodes, std::size_t count, const BinSetBytes*, const std::uint8_t* bins,
                     std::uint8_t* answers) {
  compare_levels<32, kVectors>(nodes, count, bins, answers);
}

#if defined(__x86_64__)
// A bin's byte of the set by two shuffles of 16 bytes, and its bit in that byte by another.
PODIUM_AVX2 inline void look_up_avx2(const std::uint8_t* bins, const BinSetBytes& set, std::uint8_t* mask) {
  const __m256i of = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bins));
  const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.data())));
  const __m256i high = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.data() + 16)));
  const __m256i place = _mm256_and_si256(_mm256_srli_epi16(of, 3), _mm256_set1_epi8(15));
  const __m256i byte = _mm256_blendv_epi8(_mm256_shuffle_epi8(low, place), _mm256_shuffle_epi8(high, place), of);
  const __m256i bits = _mm256_set1_epi64x(static_cast<std::int64_t>(0x8040201008040201));
  const __m256i bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(of, _mm256_set1_epi8(7)));
  _mm256_store_si256(reinterpret_cast<__m256i*>(mask), _mm256_cmpeq_epi8(_mm256_and_si256(byte, bit), bit));
}

template <std::size_t kVectors>
PODIUM_AVX2 void blend_avx2(const BlendNode* nodes, std::size_t count, const BinSetBytes* sets,
                            const std::uint8_t* bins, std::uint8_t* answers) {
  blend_tree<32, kVectors>(nodes, count, sets, bins, answers, look_up_avx2);
}
template <std::size_t kVectors>
PODIUM_AVX2 void levels_avx2(const BlendNode* nodes, std::size_t count, const BinSetBytes*, const std::uint8_t* bins,
                             std::uint8_t* answers) {
  compare_levels<32, kVectors>(nodes, count, bins, answers);
}

PODIUM_AVX512 inline void look_up_avx512(const std::uint8_t* bins, const BinSetBytes& set, std::uint8_t* mask) {
  const __m512i of = _mm512_loadu_si512(bins);
  const __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.data())));
  const __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set.data() + 16)));
  const __m512i place = _mm512_and_si512(_mm512_srli_epi16(of, 3), _mm512_set1_epi8(15));
  const __m512i byte = _mm512_mask_blend_epi8(_mm512_movepi8_mask(of), _mm512_shuffle_epi8(low, place),
                                              _mm512_shuffle_epi8(high, place));
  const __m512i bits = _mm512_set1_epi64(static_cast<std::int64_t>(0x8040201008040201));
  const __m512i bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(of, _mm512_set1_epi8(7)));
  _mm512_storeu_si512(mask, _mm512_movm_epi8(_mm512_test_epi8_mask(byte, bit)));
}

template <std::size_t kVectors>
PODIUM_AVX512 void blend_avx512(const BlendNode* nodes, std::size_t count, const BinSetBytes* sets,
                                const std::uint8_t* bins, std::uint8_t* answers) {
  blend_tree<64, kVectors>(nodes, count, sets, bins, answers, look_up_avx512);
}
template <std::size_t kVectors>
PODIUM_AVX512 void levels_avx512(const BlendNode* nodes, std::size_t count, const BinSetBytes*,
                                 const std::uint8_t* bins, std::uint8_t* answers) {
  compare_levels<64, kVectors>(nodes, count, bins, answers);
}

// The values of up to kTables · 16 leaves stay in registers, from which a permutation takes those of eight documents.
template <std::size_t kTables>
PODIUM_AVX512 void add_values_avx512(const std::uint8_t* leaf, const double* values, std::size_t count,
                                     double* scores) {
  __m512d table[2 * kTables];
  for (std::size_t k = 0; k < 2 * kTables; ++k) table[k] = _mm512_loadu_pd(values + 8 * k);
  for (std::size_t i = 0; i < count; i += 8) {
    const auto documents = static_cast<__mmask8>(count - i >= 8 ? 255 : (1u << (count - i)) - 1);
    const __m512i of = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(leaf + i)));
    __m512d value = _mm512_permutex2var_pd(table[0], of, table[1]);
    if constexpr (kTables > 1) {
      const __mmask8 odd = _mm512_test_epi64_mask(of, _mm512_set1_epi64(16));
      value = _mm512_mask_blend_pd(odd, value, _mm512_permutex2var_pd(table[2], of, table[3]));
      if constexpr (kTables > 2) {
        const __m512d upper = _mm512_mask_blend_pd(odd, _mm512_permutex2var_pd(table[4], of, table[5]),
                                                   _mm512_permutex2var_pd(table[6], of, table[7]));
        value = _mm512_mask_blend_pd(_mm512_test_epi64_mask(of, _mm512_set1_epi64(32)), value, upper);
      }
    }
    _mm512_mask_storeu_pd(scores + i, documents, _mm512_add_pd(_mm512_maskz_loadu_pd(documents, scores + i), value));
  }
}
#endif

template <std::size_t kVectors>
Kernel kernel_of(bool symmetric, std::size_t lanes) {
#if defined(__x86_64__)
  if constexpr (kVectors <= kMostTogether / 64) {
    if (lanes == 64) return symmetric ? levels_avx512<kVectors> : blend_avx512<kVectors>;
  }
  if (has_avx2()) return symmetric ? levels_avx2<kVectors> : blend_avx2<kVectors>;
#endif
  return symmetric ? levels_portable<kVectors> : blend_portable<kVectors>;
}

AddValues add_values_of(std::size_t leaves, std::size_t lanes) {
#if defined(__x86_64__)
  if (lanes == 64 && leaves <= kMostLeavesInRegisters) {
    return leaves <= 16 ? add_values_avx512<1> : leaves <= 32 ? add_values_avx512<2> : add_values_avx512<4>;
  }
#endif
  return add_values_portable;
}

// The nodes of each level of a tree, the root first; empty if a level between the root and the last one has a leaf.
std::vector<std::vector<std::int32_t>> full_levels(const ForestArrays& arrays, const TreeSpan& tree) {
  std::vector<std::vector<std::int32_t>> levels;
  const auto is_leaf = [](std::int32_t node) { return node < 0; };
  for (std::vector<std::int32_t> level{0}; !std::all_of(level.begin(), level.end(), is_leaf);) {
    if (std::any_of(level.begin(), level.end(), is_leaf)) return {};
    std::vector<std::int32_t> below;
    for (const std::int32_t node : level) {
      const std::size_t n = tree.first_node + static_cast<std::size_t>(node);
      below.push_back(arrays.left[n]);
      below.push_back(arrays.right[n]);
    }
    levels.push_back(std::move(level));
    level = std::move(below);
  }
  return levels;
}

// The nodes of a tree, those with the longest way to a leaf first. The kernels evaluate them from the last to the
// first, so that a node rarely waits for an answer that has only just been computed.
std::vector<std::size_t> by_height(const ForestArrays& arrays, const TreeSpan& tree) {
  std::vector<std::size_t> height(tree.nodes), order(tree.nodes);
  for (std::size_t n = tree.nodes; n-- > 0;) {  // children come after their parents
    for (const std::int32_t child : {arrays.left[tree.first_node + n], arrays.right[tree.first_node + n]}) {
      if (child >= 0) height[n] = std::max(height[n], height[static_cast<std::size_t>(child)] + 1);
    }
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return height[a] > height[b]; });
  return order;
}

}  // namespace

BlendScratch::BlendScratch(std::size_t columns, std::size_t documents)
    : lanes_(has_avx512() && documents > 32 ? 64 : 32),
      memory_(columns * kBlockStride + kMostTogether * kAnswers + kCacheLineBytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  answers_ = memory_.data() + (kCacheLineBytes - address % kCacheLineBytes) % kCacheLineBytes;
  bins_ = answers_ + kMostTogether * kAnswers;
  for (std::size_t v = 0; v < kMostTogether / lanes_; ++v) {
    for (std::size_t leaf = 0; leaf < kLeafAnswers; ++leaf) {
      std::fill_n(answers_ + (v * kAnswers + leaf) * lanes_, lanes_, static_cast<std::uint8_t>(leaf));
    }
  }
}

bool fits_blend(const ForestArrays& arrays, std::size_t t) {
  return TreeSpan(arrays, t).leaves() <= kLeafAnswers;
}

BlendTrees::BlendTrees(const ForestArrays& arrays, const CategoryTable& categories, std::size_t n_features,
                       std::size_t first, std::size_t last)
    : first_(first) {
  last = choose_columns(arrays, categories, n_features, last);
  for (std::size_t t = first; t < last; ++t) {
    const TreeSpan tree(arrays, t);
    if (!compile_symmetric(arrays, tree)) compile(arrays, tree);
  }
  values_.resize(values_.size() + kMostLeavesInRegisters);  // registers are filled from the last tree's values on
  binner_ = Binner(bins_);
}

// Gives every feature that the trees test a column with all of its thresholds. Returns the first tree that does not
// fit any more.
std::size_t BlendTrees::choose_columns(const ForestArrays& arrays, const CategoryTable& categories,
                                       std::size_t n_features, std::size_t last) {
  std::vector<std::vector<float>> cuts(n_features);
  std::vector<bool> tested(n_features);
  std::size_t t = first_;
  for (; t < last; ++t) {
    const TreeSpan tree(arrays, t);
    std::vector<std::pair<std::size_t, float>> added;
    bool fits = true;
    for (std::size_t n = tree.first_node; n < tree.first_node + tree.nodes; ++n) {
      if (arrays.set[n] >= 0) continue;
      const auto f = static_cast<std::size_t>(arrays.feature[n]);
      const auto at = std::lower_bound(cuts[f].begin(), cuts[f].end(), arrays.threshold[n]);
      if (at != cuts[f].end() && *at == arrays.threshold[n]) continue;
      cuts[f].insert(at, arrays.threshold[n]);
      added.emplace_back(f, arrays.threshold[n]);
      fits = fits && cuts[f].size() <= kMostThresholds;
    }
    if (!fits) {
      for (const auto& [f, cut] : added) cuts[f].erase(std::lower_bound(cuts[f].begin(), cuts[f].end(), cut));
      break;
    }
    for (std::size_t n = tree.first_node; n < tree.first_node + tree.nodes; ++n) {
      tested[static_cast<std::size_t>(arrays.feature[n])] = true;
    }
  }
  column_of_.resize(n_features);
  for (std::size_t f = 0; f < n_features; ++f) {
    if (!tested[f]) continue;
    column_of_[f] = static_cast<std::uint32_t>(used_.size());
    used_.push_back(static_cast<std::uint32_t>(f));
    const FeatureBins* known = categories.find(f);
    FeatureBins bins;
    bins.cuts = std::move(cuts[f]);
    bins_.push_back(known ? *known : std::move(bins));
  }
  return t;
}

BlendNode BlendTrees::make_node(const ForestArrays& arrays, std::size_t n) {
  const std::uint32_t column = column_of_[static_cast<std::size_t>(arrays.feature[n])];
  BlendNode node{};
  node.column = static_cast<std::uint32_t>(column * kBlockStride);
  node.categorical = arrays.set[n] >= 0;
  if (node.categorical) {
    node.set = static_cast<std::uint32_t>(sets_.size());
    BinSetBytes bytes;
    for (std::size_t k = 0; k < bytes.size(); ++k) {
      const std::uint64_t word = arrays.sets[4 * static_cast<std::size_t>(arrays.set[n]) + k / 8];
      bytes[k] = static_cast<std::uint8_t>(word >> (8 * (k % 8)));
    }
    sets_.push_back(bytes);
  } else {
    const auto& cuts = bins_[column].cuts;
    const auto bin = std::lower_bound(cuts.begin(), cuts.end(), arrays.threshold[n]) - cuts.begin();
    node.shift = arrays.missing_left[n] != 0;
    node.limit = static_cast<std::uint8_t>(bin + node.shift);
  }
  return node;
}

void BlendTrees::compile(const ForestArrays& arrays, const TreeSpan& tree) {
  trees_.push_back({nodes_.size(), tree.nodes, values_.size(), tree.leaves(), false});
  const std::vector<std::size_t> order = by_height(arrays, tree);
  std::vector<std::size_t> place(tree.nodes);
  for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
  const auto answer = [&](std::int32_t child) {
    return static_cast<std::uint16_t>(child < 0 ? static_cast<std::size_t>(~child)
                                                : kLeafAnswers + place[static_cast<std::size_t>(child)]);
  };
  for (auto k = order.rbegin(); k != order.rend(); ++k) {
    const std::size_t n = tree.first_node + *k;
    BlendNode node = make_node(arrays, n);
    node.left = answer(arrays.left[n]), node.right = answer(arrays.right[n]);
    nodes_.push_back(node);
  }
  for (std::size_t leaf = 0; leaf < tree.leaves(); ++leaf) {
    values_.push_back(arrays.value[tree.first_leaf + leaf]);
    leaf_of_.push_back(static_cast<std::uint8_t>(leaf));
  }
}

// Compiles a tree all of whose levels are full and test one thing each. Returns whether it is such a tree.
bool BlendTrees::compile_symmetric(const ForestArrays& arrays, const TreeSpan& tree) {
  if (tree.nodes == 0) {
    compile(arrays, tree);
    trees_.back().symmetric = true;
    return true;
  }
  const auto levels = full_levels(arrays, tree);
  if (levels.empty()) return false;
  for (const auto& level : levels) {
    const std::size_t first = tree.first_node + static_cast<std::size_t>(level.front());
    for (const std::int32_t node : level) {
      const std::size_t n = tree.first_node + static_cast<std::size_t>(node);
      if (arrays.set[n] >= 0 || arrays.feature[n] != arrays.feature[first] ||
          arrays.threshold[n] != arrays.threshold[first] ||
          (arrays.missing_left[n] != 0) != (arrays.missing_left[first] != 0)) {
        return false;
      }
    }
  }
  trees_.push_back({nodes_.size(), levels.size(), values_.size(), tree.leaves(), true});
  for (std::size_t depth = 0; depth < levels.size(); ++depth) {
    BlendNode node = make_node(arrays, tree.first_node + static_cast<std::size_t>(levels[depth].front()));
    node.bit = static_cast<std::uint8_t>(1u << (levels.size() - 1 - depth));
    nodes_.push_back(node);
  }
  for (const std::int32_t node : levels.back()) {
    const std::size_t n = tree.first_node + static_cast<std::size_t>(node);
    for (const std::int32_t child : {arrays.left[n], arrays.right[n]}) {
      values_.push_back(arrays.value[tree.first_leaf + static_cast<std::size_t>(~child)]);
      leaf_of_.push_back(static_cast<std::uint8_t>(~child));
    }
  }
  return true;
}

template <class T>
void BlendTrees::bin(const ScoreTable<T>& table, std::size_t row, std::size_t count, BlendScratch& scratch) const {
  constexpr std::size_t kTile = Binner::kTile;
  for (std::size_t first = 0; first < count; first += kTile) {
    for (std::size_t j = 0; j < used_.size(); ++j) {
      const T* values = table.row(row + first) + static_cast<std::ptrdiff_t>(used_[j]) * table.column_stride;
      binner_.bin_values(j, values, table.row_stride, std::min(kTile, count - first),
                         scratch.bins() + j * kBlockStride + first);
    }
  }
}
template void BlendTrees::bin(const ScoreTable<float>&, std::size_t, std::size_t, BlendScratch&) const;
template void BlendTrees::bin(const ScoreTable<double>&, std::size_t, std::size_t, BlendScratch&) const;

// Calls take(first document, documents, leaf of each) for the vectors of a block.
template <class Take>
void BlendTrees::route(std::size_t t, std::size_t count, BlendScratch& scratch, Take&& take) const {
  const Program& program = trees_[t - first_];
  const std::size_t lanes = scratch.lanes(), most = kMostTogether / lanes;
  const Kernel four = kernel_of<4>(program.symmetric, lanes), two = kernel_of<2>(program.symmetric, lanes),
               one = kernel_of<1>(program.symmetric, lanes);
  for (std::size_t row = 0; row < count;) {
    const std::size_t vectors = std::bit_floor(std::min((count - row + lanes - 1) / lanes, most));
    (vectors == 4   ? four
     : vectors == 2 ? two
                    : one)(nodes_.data() + program.first_node, program.nodes, sets_.data(), scratch.bins() + row,
                           scratch.answers());
    for (std::size_t v = 0; v < vectors && row < count; ++v, row += lanes) {
      take(row, std::min(lanes, count - row), scratch.answers() + (v * kAnswers + kLeafAnswers) * lanes);
    }
  }
}

void BlendTrees::add(std::size_t t, std::size_t count, BlendScratch& scratch, double* scores) const {
  const Program& program = trees_[t - first_];
  const double* values = values_.data() + program.first_leaf;
  const AddValues add_values = add_values_of(program.leaves, scratch.lanes());
  route(t, count, scratch, [&](std::size_t row, std::size_t documents, const std::uint8_t* leaf) {
    add_values(leaf, values, documents, scores + row);
  });
}

void BlendTrees::leaves(std::size_t t, std::size_t count, BlendScratch& scratch, std::int32_t* out,
                        std::size_t stride) const {
  const std::uint8_t* names = leaf_of_.data() + trees_[t - first_].first_leaf;
  route(t, count, scratch, [&](std::size_t row, std::size_t documents, const std::uint8_t* leaf) {
    for (std::size_t i = 0; i < documents; ++i) out[(row + i) * stride] = names[leaf[i]];
  });
}

}  // namespace podium
