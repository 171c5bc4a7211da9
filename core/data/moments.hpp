// Mean and standard deviation of every feature over documents; missing values (NaN) are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace podium {

// Queries are added up in the order given, in chunks whose sums are then added in that order, so that the bits are the
// same for any number of threads. Mean and deviation are 0 if every value is missing.
void column_moments(std::span<const float> features, std::size_t columns, std::span<const std::int64_t> query_offsets,
                    std::span<const std::int64_t> order, int num_threads, double* mean, double* deviation);

}  // namespace podium
