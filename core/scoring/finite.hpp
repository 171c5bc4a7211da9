// The check that features are finite, which must not cost a copy of them.
#pragma once

#include "scoring/arrays.hpp"

namespace podium {

// Whether a value is infinite, or too large for a float. NaN is a missing value and passes.
template <class T>
bool any_infinite(const ScoreTable<T>& table, int num_threads);

}  // namespace podium
