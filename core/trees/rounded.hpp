// Values of cuts in single precision: enough to tell which columns of a node have to be searched exactly.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trees/histogram.hpp"

namespace podium {

// The relative error of rounded values: fewer than 20 steps, each of at most 2^-24.
inline constexpr double kRoundedError = 2e-6;

// A node and the settings that matter for it in units of narrow cells, whose sums are whole numbers of 32 bits.
struct RoundedNode {
  std::int32_t force, curvature, min_curvature;
  float l2;
};

// The value of the best cut without l1, in units of cells, rounded; -1 if no cut is allowed. How it is rounded depends
// on the machine.
float rounded_best(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node);

// Adds the rounded value of both sides of every cut to `worth`, which has room for 256; a side without enough curvature
// has value 0. Numbers behind the last bin mean nothing.
void add_rounded(const NarrowCell* histogram, std::size_t bins, NarrowCell first, const RoundedNode& node,
                 float* worth);

}  // namespace podium
