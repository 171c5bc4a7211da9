#include "net/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "parallel.hpp"

namespace podium {
namespace {

constexpr std::size_t kRows = 512;    // rows of one column of L that a thread computes at a time
constexpr std::size_t kColumns = 64;  // columns of L⁻¹ that a thread computes at a time; they fit into its cache

// Row t of `columns` is column t of L, in the order of `rows`; the first `rank` rows are the pivots.
struct Factor {
  std::vector<std::int64_t> rows;
  std::vector<double> columns;
  std::size_t rank = 0;
};

Factor factorize(std::size_t n, const double* k, double least, int num_threads) {
  Factor factor{std::vector<std::int64_t>(n), std::vector<double>(n * n, 0.0)};
  std::iota(factor.rows.begin(), factor.rows.end(), 0);
  std::vector<double> remainders(n);
  for (std::size_t i = 0; i < n; ++i) remainders[i] = k[i * n + i];
  const double largest = n == 0 ? 0.0 : *std::max_element(remainders.begin(), remainders.end());

  for (std::size_t& rank = factor.rank; rank < n; ++rank) {
    const auto next = std::max_element(remainders.begin() + static_cast<std::ptrdiff_t>(rank), remainders.end());
    if (!(*next > 0 && *next > least * largest)) break;
    const auto pivot = static_cast<std::size_t>(next - remainders.begin());
    std::swap(remainders[rank], remainders[pivot]);
    std::swap(factor.rows[rank], factor.rows[pivot]);
    for (std::size_t t = 0; t < rank; ++t) std::swap(factor.columns[t * n + rank], factor.columns[t * n + pivot]);

    const double root = std::sqrt(remainders[rank]);
    const double* const own = k + static_cast<std::size_t>(factor.rows[rank]) * n;
    double* const column = factor.columns.data() + rank * n;
    column[rank] = root;
    parallel_for(n - rank - 1, num_threads, kRows, [&](std::size_t begin, std::size_t end) {
      begin += rank + 1, end += rank + 1;
      for (std::size_t i = begin; i < end; ++i) column[i] = own[factor.rows[i]];
      for (std::size_t t = 0; t < rank; ++t) {
        const double* const earlier = factor.columns.data() + t * n;
        const double share = earlier[rank];
        for (std::size_t i = begin; i < end; ++i) column[i] -= share * earlier[i];
      }
      for (std::size_t i = begin; i < end; ++i) {
        column[i] /= root;
        remainders[i] -= column[i] * column[i];
      }
    });
  }
  return factor;
}

}  // namespace

InverseRoot inverse_root(std::size_t n, const double* k, double least, int num_threads) {
  const Factor factor = factorize(n, k, least, num_threads);
  const std::size_t rank = factor.rank;
  InverseRoot out{{factor.rows.begin(), factor.rows.begin() + static_cast<std::ptrdiff_t>(rank)},
                  std::vector<double>(rank * rank, 0.0)};
  std::vector<double> lower(rank * rank, 0.0);
  for (std::size_t t = 0; t < rank; ++t) {
    for (std::size_t i = t; i < rank; ++i) lower[i * rank + t] = factor.columns[t * n + i];
  }
  // Column j of X = L⁻¹ by forward substitution: x_i = (δ_ij − Σ_{j ≤ t < i} L_it x_t) / L_ii.
  parallel_for(rank, num_threads, kColumns, [&](std::size_t begin, std::size_t end) {
    const std::size_t width = end - begin;
    std::vector<double> x(rank * width, 0.0);
    for (std::size_t i = begin; i < rank; ++i) {
      double* const own = x.data() + i * width;
      if (i < end) own[i - begin] = 1;
      for (std::size_t t = begin; t < i; ++t) {
        const double share = lower[i * rank + t];
        const double* const earlier = x.data() + t * width;
        for (std::size_t j = 0; j < width; ++j) own[j] -= share * earlier[j];
      }
      for (std::size_t j = 0; j < width; ++j) {
        own[j] /= lower[i * rank + i];
        out.basis[(begin + j) * rank + i] = own[j];
      }
    }
  });
  return out;
}

}  // namespace podium
