#include "trees/rounded.hpp"

#include <cstring>
#include <utility>

#include "dispatch.hpp"
#include "trees/running_cells.hpp"

namespace podium {
namespace {

// Force and curvature on both sides of kWidth cuts after the other, and what they are in cells. Behind the last bin the
// last cut is repeated.
template <std::size_t kWidth>
class Walk {
 public:
  using Ints = typename Vector<kWidth>::Ints;
  using Floats = typename Vector<kWidth>::Floats;

  struct Sides {
    Ints left_cells, right_cells;  // curvature
    Floats left_force, right_force, left, right;
  };

  PODIUM_INLINE Walk(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node)
      : histogram_(histogram), bins_(bins), node_(node), before_(Numbers<kHalf>{} + first) {}

  PODIUM_INLINE Sides next(std::size_t bin) {
    Numbers<kHalf> low, high;
    std::memcpy(&low, histogram_ + bin, sizeof low);
    std::memcpy(&high, histogram_ + bin + kHalf, sizeof high);
    if (bin + kWidth > bins_) {
      low &= held_of<kHalf>(bin, bins_);
      high &= held_of<kHalf>(0, bin + kHalf < bins_ ? bins_ - bin - kHalf : 0);
    }
    low = running_sums<kHalf>(low);
    high = running_sums<kHalf>(high) + last_of<kHalf>(low);
    low += before_, high += before_;
    before_ = last_of<kHalf>(high);
    Sides out;
    out.left_cells = every_second<0>(low, high), out.right_cells = node_.curvature - out.left_cells;
    const Ints force = every_second<1>(low, high);
    out.left_force = __builtin_convertvector(force, Floats);
    out.right_force = __builtin_convertvector(node_.force - force, Floats);
    out.left = __builtin_convertvector(out.left_cells, Floats) + node_.l2;
    out.right = __builtin_convertvector(out.right_cells, Floats) + node_.l2;
    return out;
  }

 private:
  static constexpr std::size_t kHalf = kWidth / 2;

  template <std::int32_t kFirst>
  static PODIUM_INLINE Ints every_second(const Numbers<kHalf>& low, const Numbers<kHalf>& high) {
    return [&]<std::size_t... kAt>(std::index_sequence<kAt...>) __attribute__((always_inline)) {
      return __builtin_shuffle((Ints)low, (Ints)high, Ints{static_cast<std::int32_t>(2 * kAt + kFirst)...});
    }(std::make_index_sequence<kWidth>{});
  }

  const NarrowCell* histogram_;
  const std::size_t bins_;
  const RoundedNode node_;
  Numbers<kHalf> before_;
};

template <std::size_t kWidth>
PODIUM_INLINE float best_in(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node) {
  using Floats = typename Vector<kWidth>::Floats;
  Walk<kWidth> walk(histogram, bins, first, node);
  const Floats none = Floats{} - 1.0f;
  Floats best = none;
  for (std::size_t b = 0; b < bins; b += kWidth) {
    const auto side = walk.next(b);
    Floats sides = (side.left_force * side.left_force * side.right + side.right_force * side.right_force * side.left) /
                   (side.left * side.right);
    const auto smaller = side.left_cells < side.right_cells ? side.left_cells : side.right_cells;
    sides = smaller >= node.min_curvature ? sides : none;
    best = sides > best ? sides : best;
  }
  float most = best[0];
  for (std::size_t lane = 1; lane < kWidth; ++lane) most = best[lane] > most ? best[lane] : most;
  return most;
}

template <std::size_t kWidth>
PODIUM_INLINE void add_in(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node,
                          float* worth) {
  using Floats = typename Vector<kWidth>::Floats;
  Walk<kWidth> walk(histogram, bins, first, node);
  const Floats zero = {}, one = Floats{} + 1.0f;
  for (std::size_t b = 0; b < bins; b += kWidth) {
    const auto side = walk.next(b);
    const auto left_counts = side.left_cells >= node.min_curvature,
               right_counts = side.right_cells >= node.min_curvature;
    const Floats left_force = left_counts ? side.left_force : zero,
                 right_force = right_counts ? side.right_force : zero;
    const Floats left = left_counts ? side.left : one, right = right_counts ? side.right : one;
    Floats sum;
    std::memcpy(&sum, worth + b, sizeof sum);
    sum += (left_force * left_force * right + right_force * right_force * left) / (left * right);
    std::memcpy(worth + b, &sum, sizeof sum);
  }
}

#if defined(__x86_64__)
PODIUM_AVX2 float best_avx2(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node) {
  return best_in<8>(histogram, bins, first, node);
}
PODIUM_AVX2 void add_avx2(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node,
                          float* worth) {
  add_in<8>(histogram, bins, first, node, worth);
}
#endif

}  // namespace

float rounded_best(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node) {
#if defined(__x86_64__)
  if (has_avx2()) return best_avx2(histogram, bins, first, node);
#endif
  return best_in<4>(histogram, bins, first, node);
}

void add_rounded(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node,
                 float* worth) {
#if defined(__x86_64__)
  if (has_avx2()) return add_avx2(histogram, bins, first, node, worth);
#endif
  add_in<4>(histogram, bins, first, node, worth);
}

}  // namespace podium
