// The kernels of blend.hpp, for vectors of 32 or 64 bytes: one byte per document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dispatch.hpp"
#include "scoring/blend.hpp"

namespace podium {

inline constexpr std::size_t kLeafAnswers = 256;           // answers that hold the number of one leaf
inline constexpr std::size_t kAnswers = 2 * kLeafAnswers;  // of one vector of documents
inline constexpr std::size_t kMostTogether = 128;          // documents that are evaluated together

template <std::size_t kLanes>
struct ByteVectorOf;
template <>
struct ByteVectorOf<32> {
  using Type = std::uint8_t __attribute__((vector_size(32), aligned(1), may_alias));
};
template <>
struct ByteVectorOf<64> {
  using Type = std::uint8_t __attribute__((vector_size(64), aligned(1), may_alias));
};
template <std::size_t kLanes>
using ByteVector = typename ByteVectorOf<kLanes>::Type;

template <std::size_t kLanes>
PODIUM_INLINE const ByteVector<kLanes>& vector_at(const std::uint8_t* bytes) {
  return *reinterpret_cast<const ByteVector<kLanes>*>(bytes);
}
template <std::size_t kLanes>
PODIUM_INLINE ByteVector<kLanes>& vector_at(std::uint8_t* bytes) {
  return *reinterpret_cast<ByteVector<kLanes>*>(bytes);
}

// Writes 255 for every bin of the set and 0 for the others.
inline void look_up_portable(const std::uint8_t* bins, const BinSetBytes& set, std::uint8_t* mask) {
  for (std::size_t i = 0; i < 32; ++i) mask[i] = (set[bins[i] >> 3] >> (bins[i] & 7) & 1) ? 255 : 0;
}

// Evaluates a tree on kVectors vectors of documents. The answer of the root is number kLeafAnswers of each vector.
template <std::size_t kLanes, std::size_t kVectors, class LookUp>
PODIUM_INLINE void blend_tree(const BlendNode* nodes, std::size_t count, const BinSetBytes* sets,
                              const std::uint8_t* bins, std::uint8_t* answers, LookUp look_up) {
  using Vector = ByteVector<kLanes>;
  for (std::size_t n = count; n-- > 0; ++nodes) {
    const BlendNode node = *nodes;
    const Vector limit = Vector{} + node.limit, shift = Vector{} + node.shift;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::uint8_t* of = bins + node.column + v * kLanes;
      std::uint8_t* own = answers + v * kAnswers * kLanes;
      const Vector left = vector_at<kLanes>(own + node.left * kLanes),
                   right = vector_at<kLanes>(own + node.right * kLanes);
      Vector& answer = vector_at<kLanes>(own + (kLeafAnswers + n) * kLanes);
      if (node.categorical) {
        alignas(kLanes) std::uint8_t mask[kLanes];
        look_up(of, sets[node.set], mask);
        answer = (vector_at<kLanes>(mask) & left) | (~vector_at<kLanes>(mask) & right);
      } else {
        answer = vector_at<kLanes>(of) + shift <= limit ? left : right;
      }
    }
  }
}

// The same for a symmetric tree, whose leaf is the sum of the bits of the levels at which a document goes right.
template <std::size_t kLanes, std::size_t kVectors>
PODIUM_INLINE void compare_levels(const BlendNode* nodes, std::size_t count, const std::uint8_t* bins,
                                  std::uint8_t* answers) {
  using Vector = ByteVector<kLanes>;
  Vector leaf[kVectors] = {};
  for (std::size_t n = 0; n < count; ++n) {
    const BlendNode node = nodes[n];
    const Vector limit = Vector{} + node.limit, shift = Vector{} + node.shift, bit = Vector{} + node.bit;
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vector right = vector_at<kLanes>(bins + node.column + v * kLanes) + shift > limit;
      leaf[v] |= right & bit;
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    vector_at<kLanes>(answers + (v * kAnswers + kLeafAnswers) * kLanes) = leaf[v];
  }
}

// Adds the values of the leaves of one vector of documents to their scores.
inline void add_values_portable(const std::uint8_t* leaf, const double* values, std::size_t count, double* scores) {
  for (std::size_t i = 0; i < count; ++i) scores[i] += values[leaf[i]];
}

}  // namespace podium
