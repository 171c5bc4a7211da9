// The square root of a kernel matrix, K ≈ L Lᵀ, and its inverse: the same bits on every machine, as all of the dense
// arithmetic here. LAPACK would give other bits with other kernels of its BLAS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace podium {

struct InverseRoot {
  std::vector<std::int64_t> pivots;  // rows of K that are linearly independent, the largest remainder first
  std::vector<double> basis;         // B = L⁻ᵀ of the matrix of these rows, [pivots × pivots]: Bᵀ K B = 1
};

// Cholesky's factorization with complete pivoting: of the rows that are left, the next pivot is the one with the most
// that the pivots so far do not explain; it ends where that is below `least` times the first. `k` is symmetric,
// [n × n], and is overwritten.
InverseRoot inverse_root(std::size_t n, double* k, double least, int num_threads);

}  // namespace podium
