// Which round of a training to keep, given its validation values.
#pragma once

#include <cstddef>
#include <span>

namespace podium {

// The round, counted from 1, that is the first of those with the highest mean over `width` neighbors on either side.
// Rounds before `first` cannot be chosen. Near the first round the window shrinks on both sides alike, and at the last
// one only earlier neighbors are known. Values are taken relative to the first and in units of the largest, and means
// are rounded, so that means of equal values are equal whatever their scale. There is at least one value, and all are
// finite or NaN.
std::size_t best_round(std::span<const double> values, std::size_t width, std::size_t first);

}  // namespace podium
