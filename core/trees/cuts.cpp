#include "trees/cuts.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "dispatch.hpp"
#include "trees/running_cells.hpp"
#include "trees/split.hpp"

namespace podium {
namespace {

constexpr double kMargin = 1 - 1e-9;  // far more than the rounding of a value

// Both sides of the cuts of one step.
template <std::size_t kWidth>
struct Sides {
  Doubles<kWidth> left_force, left_curvature, right_force, right_curvature;
};

// Force and curvature on both sides of kWidth cuts after the other, given what is on the left of the first. Behind the
// last bin the last cut is repeated.
template <class Cell, std::size_t kWidth, bool kL1>
class Walk {
 public:
  PODIUM_INLINE Walk(const Cell* histogram, std::size_t bins, Cell first, const Sums& node, double l1,
                     const Units& units)
      : cells_(histogram, bins, first), node_(node), l1_(l1), units_(units) {}

  PODIUM_INLINE Sides<kWidth> next(std::size_t bin) {
    Doubles<kWidth> force, curvature;
    cells_.next(bin, force, curvature);
    Sides<kWidth> out;
    out.left_curvature = curvature * units_.curvature;
    out.right_curvature = node_.curvature - out.left_curvature;
    out.left_force = force * units_.force;
    out.right_force = node_.force - out.left_force;
    if constexpr (kL1) out.left_force = shrunk(out.left_force), out.right_force = shrunk(out.right_force);
    return out;
  }

 private:
  PODIUM_INLINE Doubles<kWidth> shrunk(const Doubles<kWidth>& force) const {  // only its square is used
    const Doubles<kWidth> zero = {}, size = (force < zero ? -force : force) - l1_;
    return size > zero ? size : zero;
  }

  RunningCells<Cell, kWidth> cells_;
  const Sums node_;
  const double l1_;
  const Units units_;
};

// Without a division: the largest value of both sides minus `threshold`, times a positive number.
template <std::size_t kWidth, bool kL1, class Cell>
PODIUM_INLINE bool any_above_in(const Cell* histogram, std::size_t bins, Cell first, const Sums& node,
                                const SplitSettings& settings, const Units& units, double threshold) {
  using Vec = Doubles<kWidth>;
  const double l2 = settings.l2, least = settings.min_curvature;
  const Vec none = Vec{} - 1.0;
  Walk<Cell, kWidth, kL1> walk(histogram, bins, first, node, settings.l1, units);
  Vec largest = none;
  for (std::size_t b = 0; b < bins; b += kWidth) {
    const Sides<kWidth> side = walk.next(b);
    const Vec left = side.left_curvature + l2, right = side.right_curvature + l2;
    const Vec smaller = side.left_curvature < side.right_curvature ? side.left_curvature : side.right_curvature;
    Vec above = side.left_force * side.left_force * right + side.right_force * side.right_force * left -
                threshold * (left * right);
    above = smaller >= least ? above : none;
    largest = above > largest ? above : largest;
  }
  for (std::size_t lane = 0; lane < kWidth; ++lane) {
    if (largest[lane] > 0) return true;
  }
  return false;
}

// Values are kept, and the place of the best is looked up at the end: the compiler takes vectors apart where it has to
// select two of them by one comparison.
template <std::size_t kWidth, bool kL1, class Cell>
PODIUM_INLINE BestCut best_cut_in(const Cell* histogram, std::size_t bins, Cell first, const Sums& node,
                                  const SplitSettings& settings, const Units& units, double threshold) {
  using Vec = Doubles<kWidth>;
  const double l2 = settings.l2, least = settings.min_curvature;
  const Vec none = Vec{} - 1.0;
  if (threshold > 0 && !any_above_in<kWidth, kL1>(histogram, bins, first, node, settings, units, threshold * kMargin)) {
    return {-1, bins};
  }
  Walk<Cell, kWidth, kL1> walk(histogram, bins, first, node, settings.l1, units);
  Vec best = none;
  double values[256];
  for (std::size_t b = 0; b < bins; b += kWidth) {
    const Sides<kWidth> side = walk.next(b);
    const Vec left = side.left_curvature + l2, right = side.right_curvature + l2;
    Vec sides =
        (side.left_force * side.left_force * right + side.right_force * side.right_force * left) / (left * right);
    const Vec smaller = side.left_curvature < side.right_curvature ? side.left_curvature : side.right_curvature;
    sides = smaller >= least ? sides : none;
    std::memcpy(values + b, &sides, sizeof sides);
    best = sides > best ? sides : best;
  }
  double lanes[kWidth], largest = -1;
  std::memcpy(lanes, &best, sizeof best);
  for (std::size_t lane = 0; lane < kWidth; ++lane) largest = lanes[lane] > largest ? lanes[lane] : largest;
  BestCut out{largest, bins};
  for (std::size_t lane = 0; lane < kWidth; ++lane) {
    if (lanes[lane] != largest) continue;
    std::size_t place = lane;
    while (place < out.place && values[place] != largest) place += kWidth;
    out.place = std::min(out.place, place);
  }
  return out;
}

template <std::size_t kWidth, bool kL1, class Cell>
PODIUM_INLINE void add_cuts_in(const Cell* histogram, std::size_t bins, Cell first, const Sums& node,
                               const SplitSettings& settings, const Units& units, double* worth) {
  using Vec = Doubles<kWidth>;
  const double l2 = settings.l2, least = settings.min_curvature;
  const Vec zero = {}, one = Vec{} + 1.0;
  Walk<Cell, kWidth, kL1> walk(histogram, bins, first, node, settings.l1, units);
  for (std::size_t b = 0; b < bins; b += kWidth) {
    const Sides<kWidth> side = walk.next(b);
    const Vec left_force = side.left_curvature >= least ? side.left_force : zero;
    const Vec right_force = side.right_curvature >= least ? side.right_force : zero;
    const Vec left = side.left_curvature >= least ? side.left_curvature + l2 : one;
    const Vec right = side.right_curvature >= least ? side.right_curvature + l2 : one;
    Vec sum;
    std::memcpy(&sum, worth + b, sizeof sum);
    sum += (left_force * left_force * right + right_force * right_force * left) / (left * right);
    std::memcpy(worth + b, &sum, sizeof sum);
  }
}

// The same with documents by bin, of which a side needs enough.
template <std::size_t kWidth, bool kL1, class Cell>
PODIUM_INLINE void add_counted_cuts_in(const Cell* histogram, const Counts& counts, std::size_t bins, Cell first,
                                       const Sums& node, const SplitSettings& settings, const Units& units,
                                       double* worth) {
  using Vec = Doubles<kWidth>;
  const double l2 = settings.l2, least = settings.min_curvature;
  const Vec zero = {}, one = Vec{} + 1.0, fewest = Vec{} + static_cast<double>(settings.min_documents);
  const auto all = static_cast<double>(counts.all);
  Walk<Cell, kWidth, kL1> walk(histogram, bins, first, node, settings.l1, units);
  Numbers<kWidth> before = Numbers<kWidth>{} + counts.first;
  for (std::size_t b = 0; b < bins; b += kWidth) {
    Numbers<kWidth> documents;
    std::memcpy(&documents, counts.of_bins + b, sizeof documents);
    documents = running_sums<kWidth>(documents) + before;
    before = last_of<kWidth>(documents);
    Vec left_documents;
    if constexpr (kIsWide<Cell>) {
      left_documents = to_doubles<kWidth>(documents);
    } else {
      left_documents = __builtin_convertvector(__builtin_convertvector(documents, typename Vector<kWidth>::Ints), Vec);
    }
    const Sides<kWidth> side = walk.next(b);
    const auto enough = [&](const Vec& curvature, const Vec& count) __attribute__((always_inline)) {
      const Vec a = curvature - least, c = count - fewest;
      return a < c ? a : c;
    };
    const Vec left_rest = enough(side.left_curvature, left_documents),
              right_rest = enough(side.right_curvature, all - left_documents);
    const Vec left_force = left_rest >= zero ? side.left_force : zero;
    const Vec right_force = right_rest >= zero ? side.right_force : zero;
    const Vec left = left_rest >= zero ? side.left_curvature + l2 : one;
    const Vec right = right_rest >= zero ? side.right_curvature + l2 : one;
    Vec sum;
    std::memcpy(&sum, worth + b, sizeof sum);
    sum += (left_force * left_force * right + right_force * right_force * left) / (left * right);
    std::memcpy(worth + b, &sum, sizeof sum);
  }
}

// The bins that are not empty, without gaps, and the first one. Behind an empty bin the value of a cut is that of the
// cut before, which is preferred.
template <class Cell>
struct FilledBins {
  Cell cells[kStride];
  std::uint32_t places[kStride];
  std::size_t count = 0;
};

template <class Cell>
void fill_plain(const Cell* histogram, std::size_t bins, FilledBins<Cell>& out) {
  for (std::size_t b = 0; b < bins; ++b) {
    out.cells[out.count] = histogram[b], out.places[out.count] = static_cast<std::uint32_t>(b);
    out.count += static_cast<std::size_t>((b == 0) | (histogram[b] != Cell{}));
  }
}

#if defined(__x86_64__)
PODIUM_AVX512 void fill_avx512(const NarrowCell* histogram, std::size_t bins, FilledBins<NarrowCell>& out) {
  __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  for (std::size_t b = 0; b < bins; b += 8, places = _mm256_add_epi32(places, _mm256_set1_epi32(8))) {
    const __m512i cells = _mm512_loadu_si512(histogram + b);
    const auto held = static_cast<__mmask8>(0xFF >> (8 - std::min<std::size_t>(8, bins - b)));
    const auto filled = static_cast<__mmask8>((_mm512_test_epi64_mask(cells, cells) | (b == 0)) & held);
    _mm512_storeu_si512(out.cells + out.count, _mm512_maskz_compress_epi64(filled, cells));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.places + out.count),
                        _mm256_maskz_compress_epi32(filled, places));
    out.count += static_cast<std::size_t>(__builtin_popcount(filled));
  }
}
#endif

template <class Cell>
struct Kernels {
  BestCut (*best)(const Cell*, std::size_t, Cell, const Sums&, const SplitSettings&, const Units&, double);
  void (*fill)(const Cell*, std::size_t, FilledBins<Cell>&);
  void (*add)(const Cell*, std::size_t, Cell, const Sums&, const SplitSettings&, const Units&, double*);
  void (*add_counted)(const Cell*, const Counts&, std::size_t, Cell, const Sums&, const SplitSettings&, const Units&,
                      double*);
};

#define PODIUM_CUTS(name, target, width)                                                                               \
  template <class Cell>                                                                                                \
  target BestCut best_##name(const Cell* histogram, std::size_t bins, Cell first, const Sums& node,                    \
                             const SplitSettings& settings, const Units& units, double threshold) {                    \
    return settings.l1 > 0 ? best_cut_in<width, true>(histogram, bins, first, node, settings, units, threshold)        \
                           : best_cut_in<width, false>(histogram, bins, first, node, settings, units, threshold);      \
  }                                                                                                                    \
  template <class Cell>                                                                                                \
  target void add_##name(const Cell* histogram, std::size_t bins, Cell first, const Sums& node,                        \
                         const SplitSettings& settings, const Units& units, double* worth) {                           \
    settings.l1 > 0 ? add_cuts_in<width, true>(histogram, bins, first, node, settings, units, worth)                   \
                    : add_cuts_in<width, false>(histogram, bins, first, node, settings, units, worth);                 \
  }                                                                                                                    \
  template <class Cell>                                                                                                \
  target void add_counted_##name(const Cell* histogram, const Counts& counts, std::size_t bins, Cell first,            \
                                 const Sums& node, const SplitSettings& settings, const Units& units, double* worth) { \
    settings.l1 > 0 ? add_counted_cuts_in<width, true>(histogram, counts, bins, first, node, settings, units, worth)   \
                    : add_counted_cuts_in<width, false>(histogram, counts, bins, first, node, settings, units, worth); \
  }
PODIUM_CUTS(portable, , 2)
#if defined(__x86_64__)
PODIUM_CUTS(avx2, PODIUM_AVX2, 4)
PODIUM_CUTS(avx512, PODIUM_AVX512, 8)
template <class Cell>
Kernels<Cell> kernels() {
  if (!has_avx2()) return {best_portable, fill_plain, add_portable, add_counted_portable};
  if (!has_avx512()) return {best_avx2, fill_plain, add_avx2, add_counted_avx2};
  if constexpr (kIsWide<Cell>) {
    return {best_avx512, fill_plain, add_avx512, add_counted_avx512};
  } else {
    return {best_avx512, fill_avx512, add_avx512, add_counted_avx512};
  }
}
#else
template <class Cell>
Kernels<Cell> kernels() {
  return {best_portable, fill_plain, add_portable, add_counted_portable};
}
#endif
#undef PODIUM_CUTS

}  // namespace

template <class Cell>
BestCut best_cut(const Cell* histogram, std::size_t bins, std::size_t documents, Cell first, const Sums& node,
                 const SplitSettings& settings, const Units& units, double threshold) {
  const Kernels run = kernels<Cell>();
  if (documents >= bins) return run.best(histogram, bins, first, node, settings, units, threshold);
  FilledBins<Cell> filled;
  run.fill(histogram, bins, filled);
  BestCut best = run.best(filled.cells, filled.count, first, node, settings, units, threshold);
  best.place = best.place < filled.count ? filled.places[best.place] : bins;
  return best;
}

template <class Cell>
void add_cuts(const Cell* histogram, std::size_t bins, Cell first, const Sums& node, const SplitSettings& settings,
              const Units& units, double* worth) {
  kernels<Cell>().add(histogram, bins, first, node, settings, units, worth);
}

template <class Cell>
void add_cuts(const Cell* histogram, const Counts& counts, std::size_t bins, Cell first, const Sums& node,
              const SplitSettings& settings, const Units& units, double* worth) {
  kernels<Cell>().add_counted(histogram, counts, bins, first, node, settings, units, worth);
}

template BestCut best_cut(const NarrowCell*, std::size_t, std::size_t, NarrowCell, const Sums&, const SplitSettings&,
                          const Units&, double);
template void add_cuts(const NarrowCell*, std::size_t, NarrowCell, const Sums&, const SplitSettings&, const Units&,
                       double*);
template void add_cuts(const NarrowCell*, const Counts&, std::size_t, NarrowCell, const Sums&, const SplitSettings&,
                       const Units&, double*);
template BestCut best_cut(const WideCell*, std::size_t, std::size_t, WideCell, const Sums&, const SplitSettings&,
                          const Units&, double);
template void add_cuts(const WideCell*, std::size_t, WideCell, const Sums&, const SplitSettings&, const Units&,
                       double*);
template void add_cuts(const WideCell*, const Counts&, std::size_t, WideCell, const Sums&, const SplitSettings&,
                       const Units&, double*);

}  // namespace podium
