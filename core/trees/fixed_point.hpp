// Sums that do not depend on the order of addition: numbers as multiples of a power of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace podium {

inline int exponent_above(double positive) {
  return positive > 0 ? std::ilogb(positive) + 1 : -1022;
}

// The exponent k for which the sum of n numbers of at most `largest`, each times 2^k, stays below 2^61 and each of them
// below 2^50.
inline int sum_exponent(double largest, std::size_t n) {
  const int bits = std::bit_width(n);
  return std::clamp(std::min(61 - bits, 50) - exponent_above(largest), -1000, 1000);
}

// The nearest whole number, with ties to even: added to 1.5·2^52 it is in the low bits. |value·scale| < 2^51.
inline std::int64_t to_fixed(double value, double scale) {
  constexpr double kShift = 0x1.8p52;
  return std::bit_cast<std::int64_t>(value * scale + kShift) - std::bit_cast<std::int64_t>(kShift);
}

// The power of two that brings numbers whose absolute values sum to `total` (n of them, rounded each) below 2^bits.
// There are fewer than 2^(bits − 1) of them.
inline int cell_exponent(double total, std::size_t n, int bits) {
  const double limit = std::ldexp(1.0, bits) - 1 - static_cast<double>(n);
  int k = total > 0 ? std::clamp(std::ilogb(limit / total), -1000, 1000) : 0;
  while (std::ldexp(total, k) > limit) --k;
  return k;
}

}  // namespace podium
