#include "trees/tree.hpp"

#include <algorithm>

#include "dispatch.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace podium {
namespace {

constexpr std::size_t kTile = Binner::kTile;

void walk_tile(const Tree& tree, const BinColumns& columns, std::size_t row, std::uint32_t* leaf) {
  for (std::size_t i = 0; i < kTile; ++i) {
    std::int32_t at = tree.nodes.empty() ? -1 : 0;
    while (at >= 0) {
      const TreeNode& node = tree.nodes[static_cast<std::size_t>(at)];
      at = tree.goes_left(node, columns.column(node.column)[row + i]) ? node.left : node.right;
    }
    leaf[i] = static_cast<std::uint32_t>(~at);
  }
}

#if defined(__x86_64__)
// 255 for each of 32 documents that go left, by their bins.
__attribute__((target("avx2"))) PODIUM_INLINE __m256i lefts(const Tree& tree, const TreeNode& node,
                                                            const std::uint8_t* bins) {
  if (node.categorical()) {
    alignas(32) std::uint8_t mask[32];
    for (std::size_t i = 0; i < 32; ++i) mask[i] = holds(tree.sets[node.set], bins[i]) ? 255 : 0;
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(mask));
  }
  const __m256i of = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bins));
  const __m256i left = _mm256_cmpeq_epi8(_mm256_min_epu8(of, _mm256_set1_epi8(static_cast<char>(node.bin))), of);
  if (!node.missing_left) return left;
  return _mm256_or_si256(left, _mm256_cmpeq_epi8(of, _mm256_set1_epi8(static_cast<char>(kMissingBin))));
}

// Every node on 32 documents at once, from the last to the root: the answer of a node is that of the child to which a
// document goes. Branch-free; answers are bytes, so there are at most 256 leaves.
PODIUM_AVX2 void blend_tile(const Tree& tree, const BinColumns& columns, std::size_t row, std::uint8_t* answers,
                            std::uint32_t* leaf) {
  const auto answer = [&](std::int32_t child, std::size_t half) PODIUM_AVX2 {
    if (child < 0) return _mm256_set1_epi8(static_cast<char>(~child));
    return _mm256_load_si256(
        reinterpret_cast<const __m256i*>(answers + static_cast<std::size_t>(child) * kTile + half));
  };
  for (std::size_t n = tree.nodes.size(); n-- > 0;) {
    const TreeNode& node = tree.nodes[n];
    const std::uint8_t* bins = columns.column(node.column) + row;
    for (std::size_t half = 0; half < kTile; half += 32) {
      _mm256_store_si256(
          reinterpret_cast<__m256i*>(answers + n * kTile + half),
          _mm256_blendv_epi8(answer(node.right, half), answer(node.left, half), lefts(tree, node, bins + half)));
    }
  }
  for (std::size_t i = 0; i < kTile; ++i) leaf[i] = answers[i];
}

// Of a symmetric tree: each level appends a bit to the number of the leaf.
PODIUM_AVX2 void count_tile(const Tree& tree, const BinColumns& columns, std::size_t row, std::uint32_t* leaf) {
  alignas(32) std::uint8_t answers[kTile];
  for (std::size_t half = 0; half < kTile; half += 32) {
    __m256i at = _mm256_setzero_si256();
    for (std::uint32_t level = 0; level < tree.levels; ++level) {
      const TreeNode& node = tree.nodes[(std::size_t{1} << level) - 1];
      const __m256i left = lefts(tree, node, columns.column(node.column) + row + half);
      at = _mm256_add_epi8(_mm256_add_epi8(at, at), _mm256_add_epi8(left, _mm256_set1_epi8(1)));
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(answers + half), at);
  }
  for (std::size_t i = 0; i < kTile; ++i) leaf[i] = answers[i];
}
#endif

}  // namespace

void route_tile(const Tree& tree, const BinColumns& columns, std::size_t row, RouteScratch& scratch,
                std::uint32_t* leaf) {
#if defined(__x86_64__)
  if (!tree.nodes.empty() && tree.nodes.size() < 256 && has_avx2()) {
    if (tree.levels > 0) return count_tile(tree, columns, row, leaf);
    scratch.resize(tree.nodes.size() * kTile + 32);
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    return blend_tile(tree, columns, row, scratch.data() + (32 - address % 32) % 32, leaf);
  }
#endif
  walk_tile(tree, columns, row, leaf);
}

}  // namespace podium
