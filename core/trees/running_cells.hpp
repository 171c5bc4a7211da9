// Sums of force and curvature over the first bins of a histogram, for several bins at a time.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "dispatch.hpp"
#include "trees/histogram.hpp"

namespace podium {

// Vectors as wide as the machine's: the compiler splits wider ones into single numbers. Sums of cells are whole numbers
// and all else is computed for each cut alone, so that every width gives the same bits.
template <std::size_t kWidth>
struct Vector {
  using Numbers [[gnu::vector_size(kWidth * sizeof(std::int64_t))]] = std::int64_t;
  using Words [[gnu::vector_size(kWidth * sizeof(std::int64_t))]] = std::uint64_t;
  using Ints [[gnu::vector_size(kWidth * sizeof(std::int32_t))]] = std::int32_t;
  using Doubles [[gnu::vector_size(kWidth * sizeof(double))]] = double;
  using Floats [[gnu::vector_size(kWidth * sizeof(float))]] = float;
};
template <std::size_t kWidth>
using Numbers = typename Vector<kWidth>::Numbers;
template <std::size_t kWidth>
using Doubles = typename Vector<kWidth>::Doubles;

inline constexpr std::size_t kMostWide = 8;
inline constexpr std::int64_t kHeld[2 * kMostWide] = {-1, -1, -1, -1, -1, -1, -1, -1};

// The cells moved by kBy places to the right, with zeros on the left.
template <std::size_t kWidth, std::size_t kBy>
PODIUM_INLINE Numbers<kWidth> moved(const Numbers<kWidth>& cells) {
  return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
    return __builtin_shuffle(Numbers<kWidth>{}, cells,
                             Numbers<kWidth>{static_cast<std::int64_t>(kAt < kBy ? kAt : kWidth + kAt - kBy)...});
  }(std::make_index_sequence<kWidth>{});
}

template <std::size_t kWidth>
PODIUM_INLINE Numbers<kWidth> last_of(const Numbers<kWidth>& cells) {
  return __builtin_shuffle(cells, Numbers<kWidth>{} + static_cast<std::int64_t>(kWidth - 1));
}

template <std::size_t kWidth>
PODIUM_INLINE Numbers<kWidth> running_sums(Numbers<kWidth> cells) {
  cells += moved<kWidth, 1>(cells);
  if constexpr (kWidth > 2) cells += moved<kWidth, 2>(cells);
  if constexpr (kWidth > 4) cells += moved<kWidth, 4>(cells);
  return cells;
}

// All bits of the numbers of the first `bins` bins, and none of those behind them.
template <std::size_t kWidth>
PODIUM_INLINE Numbers<kWidth> held_of(std::size_t bin, std::size_t bins) {
  Numbers<kWidth> held;
  std::memcpy(&held, kHeld + kMostWide - std::min(kMostWide, bins - bin), sizeof held);
  return held;
}

// Numbers of less than 2^51 in size: the inverse of to_fixed.
template <std::size_t kWidth>
PODIUM_INLINE Doubles<kWidth> to_doubles(const Numbers<kWidth>& numbers) {
  constexpr double kShift = 0x1.8p52;
  return (Doubles<kWidth>)(numbers + std::bit_cast<std::int64_t>(kShift)) - kShift;
}

// The sums of force and curvature of the cells up to each of kWidth bins after the other, in units of cells.
template <class Cell, std::size_t kWidth>
class RunningCells {
 public:
  PODIUM_INLINE RunningCells(const Cell* histogram, std::size_t bins, Cell first)
      : histogram_(histogram), bins_(bins), before_(Numbers<kWidth>{} + first) {}

  PODIUM_INLINE void next(std::size_t bin, Doubles<kWidth>& force, Doubles<kWidth>& curvature) {
    using Vec = Doubles<kWidth>;
    Numbers<kWidth> cells;
    std::memcpy(&cells, histogram_ + bin, sizeof cells);
    cells = running_sums<kWidth>(cells & held_of<kWidth>(bin, bins_)) + before_;
    before_ = last_of<kWidth>(cells);
    if constexpr (kWidth == kMostWide) {  // converted from 64 bits
      force = __builtin_convertvector(cells >> 32, Vec);
      curvature = __builtin_convertvector(cells & 0xFFFFFFFF, Vec);
    } else {
      const auto high = (Numbers<kWidth>)((typename Vector<kWidth>::Words)cells >> 32);
      force = __builtin_convertvector(__builtin_convertvector(high, typename Vector<kWidth>::Ints), Vec);
      curvature = __builtin_convertvector(__builtin_convertvector(cells, typename Vector<kWidth>::Ints), Vec);
    }
  }

 private:
  const Cell* histogram_;
  const std::size_t bins_;
  Numbers<kWidth> before_;
};

template <std::size_t kWidth>
class RunningCells<WideCell, kWidth> {
 public:
  PODIUM_INLINE RunningCells(const WideCell* histogram, std::size_t bins, const WideCell& first)
      : histogram_(histogram),
        bins_(bins),
        force_(Numbers<kWidth>{} + first.force),
        curvature_(Numbers<kWidth>{} + first.curvature) {}

  PODIUM_INLINE void next(std::size_t bin, Doubles<kWidth>& force, Doubles<kWidth>& curvature) {
    Numbers<kWidth> low, high;  // force and curvature in turn
    std::memcpy(&low, histogram_ + bin, sizeof low);
    std::memcpy(&high, histogram_ + bin + kWidth / 2, sizeof high);
    const Numbers<kWidth> held = held_of<kWidth>(bin, bins_);
    force_ = running_sums<kWidth>(every_second<0>(low, high) & held) + last_of<kWidth>(force_);
    curvature_ = running_sums<kWidth>(every_second<1>(low, high) & held) + last_of<kWidth>(curvature_);
    force = to_doubles<kWidth>(force_), curvature = to_doubles<kWidth>(curvature_);
  }

 private:
  template <std::size_t kFirst>
  static PODIUM_INLINE Numbers<kWidth> every_second(const Numbers<kWidth>& low, const Numbers<kWidth>& high) {
    return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
      return __builtin_shuffle(low, high, Numbers<kWidth>{static_cast<std::int64_t>(2 * kAt + kFirst)...});
    }(std::make_index_sequence<kWidth>{});
  }

  const WideCell* histogram_;
  const std::size_t bins_;
  Numbers<kWidth> force_, curvature_;  // up to the last bin
};

}  // namespace podium
