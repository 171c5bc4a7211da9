// The square root of a kernel matrix, K ≈ L Lᵀ, and its inverse. LAPACK's result differs in its last bits from one BLAS
// to another; here every sum has one order, so that a model has the same bytes on every processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace podium {

struct InverseRoot {
  std::vector<std::int64_t> pivots;  // linearly independent rows of K, in the order in which they were chosen
  std::vector<double> basis;         // B = L⁻ᵀ for the matrix of these rows, [pivots × pivots]: Bᵀ K B = 1
};

// Cholesky factorization with complete pivoting. The next pivot is the row with the largest remainder, the part of its
// diagonal element that the pivots so far do not explain. The factorization ends when no remainder exceeds `least`
// times the largest diagonal element. `k` is symmetric, [n × n].
InverseRoot inverse_root(std::size_t n, const double* k, double least, int num_threads);

}  // namespace podium
