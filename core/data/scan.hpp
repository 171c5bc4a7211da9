// Checks of a feature matrix that need no temporary copy of it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podium {

// Returns the index of the first infinite value, or -1; NaN is a missing value and allowed.
std::int64_t first_infinite(const float* values, std::size_t count, int num_threads);

}  // namespace podium
