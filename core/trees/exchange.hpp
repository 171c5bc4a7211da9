// How several workers, each with whole queries of its own, agree on numbers over all documents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace podium {

// Every worker calls the same functions in the same order with arrays of the same size, and gets the same result.
// Integers are added, and the largest of numbers taken, so that nothing depends on the order of the workers.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Replaces each of `sums` by the sum over all workers (which wraps around as sums of histogram cells do), and each of
  // `maxima` by the largest of all workers.
  virtual void combine(std::span<std::int64_t> sums, std::span<double> maxima) = 0;
};

// The same for training in one process, which has no exchange.
inline void sum_over_workers(Exchange* exchange, std::span<std::int64_t> numbers) {
  if (exchange) exchange->combine(numbers, {});
}

}  // namespace podium
