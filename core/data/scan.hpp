// Checks over a feature matrix that must not cost a temporary of its size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podium {

// Index of the first infinite value (NaN is a missing value and passes), or -1.
std::int64_t first_infinite(const float* values, std::size_t count, int num_threads);

}  // namespace podium
