#include "metrics/order.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "dispatch.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace podium {
namespace {

constexpr std::size_t block = 8;  // scores per step, in as many vectors as the machine needs
constexpr double lowest = -std::numeric_limits<double>::infinity();
constexpr std::size_t most_candidates = order_room - block;

// Vectors as wide as the machine's: the compiler splits wider ones into single numbers.
template <std::size_t width>
struct Vector {
  using Doubles [[gnu::vector_size(width * sizeof(double))]] = double;
  using Ints [[gnu::vector_size(width * sizeof(std::int64_t))]] = std::int64_t;
};

// The bodies are written once and compiled twice, for the baseline and for AVX2. They only compare and select, so both
// give the same answer.

// out[i] = how many scores come before score i. `scores` and `out` have room for whole blocks.
template <std::size_t width>
PODIUM_INLINE void count_before(const double* scores, std::size_t n, std::int64_t* out) {
  using Doubles = typename Vector<width>::Doubles;
  using Ints = typename Vector<width>::Ints;
  constexpr std::size_t vectors = block / width;
  for (std::size_t i = 0; i < n; i += block) {
    Doubles own[vectors], lane[vectors];
    Ints before[vectors] = {};
    std::memcpy(own, scores + i, sizeof own);
    for (std::size_t l = 0; l < block; ++l) lane[l / width][l % width] = static_cast<double>(l);
    for (std::size_t j = 0; j < i; ++j) {
      for (std::size_t v = 0; v < vectors; ++v) before[v] -= (own[v] <= scores[j]);
    }
    const std::size_t end = std::min(n, i + block);
    for (std::size_t j = i; j < end; ++j) {
      const double here = static_cast<double>(j - i);
      for (std::size_t v = 0; v < vectors; ++v) {
        before[v] -= (own[v] < scores[j]) | ((own[v] == scores[j]) & (lane[v] > here));
      }
    }
    for (std::size_t j = end; j < n; ++j) {
      for (std::size_t v = 0; v < vectors; ++v) before[v] -= (own[v] < scores[j]);
    }
    std::memcpy(out + i, before, sizeof before);
  }
}

// A score that at least `depth` of them reach, close to the highest such: each lane keeps its own best `kept`, and of
// those the one of rank `depth` is taken. `kept` is a constant so that all of it stays in registers.
template <std::size_t width, std::size_t kept>
PODIUM_INLINE double reached_by(const double* scores, std::size_t n, std::size_t depth) {
  using Doubles = typename Vector<width>::Doubles;
  using Ints = typename Vector<width>::Ints;
  constexpr std::size_t vectors = block / width, all = kept * vectors;
  Doubles best[all];
#pragma GCC unroll 32
  for (std::size_t m = 0; m < all; ++m) best[m] = Doubles{} + lowest;
  const auto take = [&](const double* next) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      Doubles score;
      std::memcpy(&score, next + v * width, sizeof score);
#pragma GCC unroll 8
      for (std::size_t m = 0; m < kept; ++m) {
        const Doubles held = best[m * vectors + v];
        const Ints above = held > score;
        best[m * vectors + v] = above ? held : score;
        score = above ? score : held;
      }
    }
  };
  std::size_t i = 0;
  for (; i + block <= n; i += block) take(scores + i);
  double rest[block];
  std::fill(rest, rest + block, lowest);
  std::copy(scores + i, scores + n, rest);
  take(rest);

  // Counts are kept as numbers of the same kind: the baseline compares no 64-bit integers.
  double candidates[kept * block];
  std::memcpy(candidates, best, sizeof candidates);
  Doubles reaching[all] = {};
  const Doubles one = Doubles{} + 1.0;
  for (const double candidate : candidates) {
#pragma GCC unroll 32
    for (std::size_t m = 0; m < all; ++m) reaching[m] += best[m] <= candidate ? one : Doubles{};
  }
  Doubles highest = Doubles{} + lowest;
#pragma GCC unroll 32
  for (std::size_t m = 0; m < all; ++m) {
    const Doubles value = reaching[m] >= static_cast<double>(depth) ? best[m] : Doubles{} + lowest;
    highest = value > highest ? value : highest;
  }
  double threshold = highest[0];
  for (std::size_t l = 1; l < width; ++l) threshold = highest[l] > threshold ? highest[l] : threshold;
  return threshold;
}

template <std::size_t width>
PODIUM_INLINE double reached_by(const double* scores, std::size_t n, std::size_t depth) {
  if (depth <= 4) return reached_by<width, 1>(scores, n, depth);
  if (depth <= 8) return reached_by<width, 2>(scores, n, depth);
  if (depth <= 12) return reached_by<width, 3>(scores, n, depth);
  return reached_by<width, deepest_top / 4>(scores, n, depth);
}

void count_before_baseline(const double* scores, std::size_t n, std::int64_t* out) {
  count_before<2>(scores, n, out);
}

double reached_by_baseline(const double* scores, std::size_t n, std::size_t depth) {
  return reached_by<2>(scores, n, depth);
}

PODIUM_AVX2 void count_before_avx2(const double* scores, std::size_t n, std::int64_t* out) {
  count_before<4>(scores, n, out);
}

PODIUM_AVX2 double reached_by_avx2(const double* scores, std::size_t n, std::size_t depth) {
  return reached_by<4>(scores, n, depth);
}

// out = the numbers of the scores of at least the threshold; returns how many there are.
PODIUM_INLINE std::size_t collect_plain(const double* scores, std::size_t first, std::size_t n, double threshold,
                                        std::uint32_t* out, std::size_t count) {
  for (std::size_t i = first; i < n; ++i) {
    out[count] = static_cast<std::uint32_t>(i);
    count += scores[i] >= threshold;
  }
  return count;
}

#if defined(__x86_64__)
PODIUM_AVX512 void count_before_avx512(const double* scores, std::size_t n, std::int64_t* out) {
  const __m512i one = _mm512_set1_epi64(1);
  for (std::size_t i = 0; i < n; i += 8) {
    const __m512d own = _mm512_loadu_pd(scores + i);
    const auto count = [&](__m512i before, __mmask8 found) __attribute__((always_inline, target("avx512f"))) {
      return _mm512_mask_add_epi64(before, found, before, one);
    };
    __m512i before = _mm512_setzero_si512(), more = before;  // two chains of additions
    std::size_t j = 0;
    for (; j + 2 <= i; j += 2) {
      before = count(before, _mm512_cmp_pd_mask(own, _mm512_set1_pd(scores[j]), _CMP_LE_OQ));
      more = count(more, _mm512_cmp_pd_mask(own, _mm512_set1_pd(scores[j + 1]), _CMP_LE_OQ));
    }
    const std::size_t end = std::min(n, i + 8);
    for (; j < end; ++j) {  // of equal scores the first comes first
      const __m512d other = _mm512_set1_pd(scores[j]);
      const auto later = static_cast<__mmask8>(0xFE << (j - i));
      before = count(before, static_cast<__mmask8>(_mm512_cmp_pd_mask(own, other, _CMP_LT_OQ) |
                                                   (_mm512_cmp_pd_mask(own, other, _CMP_EQ_OQ) & later)));
    }
    for (; j < n; ++j) more = count(more, _mm512_cmp_pd_mask(own, _mm512_set1_pd(scores[j]), _CMP_LT_OQ));
    _mm512_storeu_si512(out + i, _mm512_add_epi64(before, more));
  }
}

PODIUM_AVX512 double reached_by_avx512(const double* scores, std::size_t n, std::size_t depth) {
  return reached_by<8>(scores, n, depth);
}

PODIUM_AVX512 std::size_t collect_avx512(const double* scores, std::size_t n, double threshold, std::uint32_t* out) {
  const __m512d least = _mm512_set1_pd(threshold);
  __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t i = 0, count = 0;
  for (; i + 8 <= n; i += 8, numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8))) {
    const __mmask8 found = _mm512_cmp_pd_mask(_mm512_loadu_pd(scores + i), least, _CMP_GE_OQ);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count), _mm256_maskz_compress_epi32(found, numbers));
    count += static_cast<std::size_t>(__builtin_popcount(found));
  }
  return collect_plain(scores, i, n, threshold, out, count);
}
#endif

void count_before_best(const double* scores, std::size_t n, std::int64_t* out) {
#if defined(__x86_64__)
  if (has_avx512()) return count_before_avx512(scores, n, out);
#endif
  return has_avx2() ? count_before_avx2(scores, n, out) : count_before_baseline(scores, n, out);
}

double reached_by_best(const double* scores, std::size_t n, std::size_t depth) {
#if defined(__x86_64__)
  if (has_avx512()) return reached_by_avx512(scores, n, depth);
#endif
  return has_avx2() ? reached_by_avx2(scores, n, depth) : reached_by_baseline(scores, n, depth);
}

std::size_t collect_best(const double* scores, std::size_t n, double threshold, std::uint32_t* out) {
#if defined(__x86_64__)
  if (has_avx512()) return collect_avx512(scores, n, threshold, out);
#endif
  return collect_plain(scores, 0, n, threshold, out, 0);
}

}  // namespace

void order_by_counting(const double* scores, std::size_t n, std::uint32_t* order) {
  std::int64_t before[longest_counted + block];
  count_before_best(scores, n, before);
  for (std::size_t i = 0; i < n; ++i) order[static_cast<std::size_t>(before[i])] = static_cast<std::uint32_t>(i);
}

void order_by_counting(std::span<const double> scores, OrderScratch& scratch, std::vector<std::uint32_t>& order) {
  const std::size_t n = scores.size();
  scratch.scores.resize(n + block);
  std::copy(scores.begin(), scores.end(), scratch.scores.begin());
  order.resize(n);
  order_by_counting(scratch.scores.data(), n, order.data());
}

bool order_top(std::span<const double> scores, std::size_t depth, OrderScratch& scratch, std::uint32_t* order) {
  const std::size_t n = scores.size();
  const double threshold = reached_by_best(scores.data(), n, depth);
  if (scratch.candidates.size() < n + block) scratch.candidates.resize(n + block);
  std::uint32_t* const candidates = scratch.candidates.data();
  const std::size_t count = collect_best(scores.data(), n, threshold, candidates);
  if (count > most_candidates) return false;
  double few[most_candidates + block];
  std::fill_n(few + count, block, 0.0);
  std::int64_t before[most_candidates + block];
  for (std::size_t c = 0; c < count; ++c) few[c] = scores[candidates[c]];
  count_before_best(few, count, before);
  for (std::size_t c = 0; c < count; ++c) order[static_cast<std::size_t>(before[c])] = candidates[c];
  return true;
}

bool order_top(std::span<const double> scores, std::size_t depth, OrderScratch& scratch,
               std::vector<std::uint32_t>& order) {
  order.resize(depth + order_room);
  if (!order_top(scores, depth, scratch, order.data())) return false;
  order.resize(depth);
  return true;
}

}  // namespace podium
