// The kernels of blend.hpp, for vectors of one width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "scoring/blend.hpp"

namespace podium {

inline constexpr std::size_t kLanes = 32;                  // documents of a vector
inline constexpr std::size_t kLeafAnswers = 256;           // answers that hold the number of one leaf
inline constexpr std::size_t kAnswers = 2 * kLeafAnswers;  // of one vector of documents
inline constexpr std::size_t kMostVectors = 4;             // of documents that are evaluated together

using ByteVector = std::uint8_t __attribute__((vector_size(kLanes), aligned(1), may_alias));

inline const ByteVector& vector_at(const std::uint8_t* bytes) {
  return *reinterpret_cast<const ByteVector*>(bytes);
}
inline ByteVector& vector_at(std::uint8_t* bytes) {
  return *reinterpret_cast<ByteVector*>(bytes);
}

// Writes 255 for every bin of the set and 0 for the others.
inline void look_up_portable(const std::uint8_t* bins, const BinSetBytes& set, std::uint8_t* mask) {
  for (std::size_t i = 0; i < kLanes; ++i) mask[i] = (set[bins[i] >> 3] >> (bins[i] & 7) & 1) ? 255 : 0;
}

// Evaluates a tree on kVectors vectors of documents. The answer of the root is number kLeafAnswers of each vector.
template <std::size_t kVectors, class LookUp>
PODIUM_INLINE void blend_tree(const BlendNode* nodes, std::size_t count, const BinSetBytes* sets,
                              const std::uint8_t* bins, std::uint8_t* answers, LookUp look_up) {
  for (std::size_t n = count; n-- > 0;) {
    const BlendNode node = nodes[n];
    const ByteVector limit = ByteVector{} + node.limit, shift = ByteVector{} + node.shift;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::uint8_t* of = bins + node.column + v * kLanes;
      std::uint8_t* own = answers + v * kAnswers * kLanes;
      const ByteVector left = vector_at(own + node.left * kLanes), right = vector_at(own + node.right * kLanes);
      ByteVector& answer = vector_at(own + (kLeafAnswers + n) * kLanes);
      if (node.categorical) {
        alignas(kLanes) std::uint8_t mask[kLanes];
        look_up(of, sets[node.set], mask);
        answer = (vector_at(mask) & left) | (~vector_at(mask) & right);
      } else {
        answer = vector_at(of) + shift <= limit ? left : right;
      }
    }
  }
}

// The same for a symmetric tree, whose leaf is the sum of the bits of the levels at which a document goes right.
template <std::size_t kVectors>
PODIUM_INLINE void compare_levels(const BlendNode* nodes, std::size_t count, const std::uint8_t* bins,
                                  std::uint8_t* answers) {
  ByteVector leaf[kVectors] = {};
  for (std::size_t n = 0; n < count; ++n) {
    const BlendNode node = nodes[n];
    const ByteVector limit = ByteVector{} + node.limit, shift = ByteVector{} + node.shift,
                     bit = ByteVector{} + node.bit;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const ByteVector right = vector_at(bins + node.column + v * kLanes) + shift > limit;
      leaf[v] |= right & bit;
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) vector_at(answers + (v * kAnswers + kLeafAnswers) * kLanes) = leaf[v];
}

// Adds the values of the leaves of one vector of documents to their scores.
PODIUM_INLINE void add_values(const std::uint8_t* leaf, const double* values, std::size_t count, double* scores) {
  for (std::size_t i = 0; i < count; ++i) scores[i] += values[leaf[i]];
}

}  // namespace podium
