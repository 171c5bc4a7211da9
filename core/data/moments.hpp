// Mean and deviation of every feature over documents; missing values (NaN) do not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace podium {

// Queries are taken in the order given, in chunks whose sums are then added in that order: the same bits for any number
// of threads. mean is 0 and deviation is 0 where every value is missing.
void column_moments(std::span<const float> features, std::size_t columns, std::span<const std::int64_t> query_offsets,
                    std::span<const std::int64_t> order, int num_threads, double* mean, double* deviation);

}  // namespace podium
