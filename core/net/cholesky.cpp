#include "net/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "net/net.hpp"

namespace podium {
namespace {

constexpr std::size_t kFactored = 64;   // columns that are factored before the rest of the matrix is updated
constexpr std::size_t kInverted = 128;  // rows that are inverted at a time
constexpr std::size_t kRows = 512;      // rows of the rest that are updated at a time

class Factorization {
 public:
  Factorization(std::size_t n, double* k, int num_threads)
      : n_(n), num_threads_(num_threads), k_(k), left_(n), pivots_(n) {
    for (std::size_t i = 0; i < n; ++i) left_[i] = at(i, i), pivots_[i] = static_cast<std::int64_t>(i);
  }

  // Leaves L below the diagonal of the first rank() rows.
  void run(double least) {
    const double first = n_ == 0 ? 0.0 : *std::max_element(left_.begin(), left_.end());
    if (!(first > 0)) return;
    for (std::size_t begin = 0; begin < n_; begin = rank_) {
      const std::size_t end = std::min(n_, begin + kFactored);
      for (; rank_ < end; ++rank_) {
        const auto pivot = std::max_element(left_.begin() + static_cast<std::ptrdiff_t>(rank_), left_.end());
        if (!(*pivot > least * first)) return;
        exchange(rank_, static_cast<std::size_t>(pivot - left_.begin()));
        add_column(begin);
      }
      update(begin, end);
    }
  }

  std::size_t rank() const { return rank_; }
  std::span<const std::int64_t> pivots() const { return {pivots_.data(), rank_}; }
  double lower(std::size_t i, std::size_t j) const { return k_[i * n_ + j]; }

 private:
  double& at(std::size_t i, std::size_t j) { return k_[i * n_ + j]; }

  void exchange(std::size_t a, std::size_t b) {
    if (a == b) return;
    std::swap(left_[a], left_[b]);
    std::swap(pivots_[a], pivots_[b]);
    std::swap_ranges(&at(a, 0), &at(a, 0) + n_, &at(b, 0));
    for (std::size_t i = 0; i < n_; ++i) std::swap(at(i, a), at(i, b));
  }

  // Column rank_ of L; the columns from `begin` on are not yet taken off the matrix.
  void add_column(std::size_t begin) {
    const std::size_t k = rank_;
    const double root = std::sqrt(left_[k]);
    at(k, k) = root;
    for (std::size_t i = k + 1; i < n_; ++i) {
      double sum = at(i, k);
      for (std::size_t t = begin; t < k; ++t) sum -= at(i, t) * at(k, t);
      at(i, k) = sum / root;
      left_[i] -= at(i, k) * at(i, k);
    }
  }

  // Takes the finished columns off the rest of the matrix, both of its halves.
  void update(std::size_t begin, std::size_t end) {
    const std::size_t width = end - begin, rest = n_ - end;
    std::vector<double> rows(rest * width), across(width * rest), part(std::min(rest, kRows) * rest);
    for (std::size_t i = 0; i < rest; ++i) {
      for (std::size_t t = 0; t < width; ++t) rows[i * width + t] = across[t * rest + i] = at(end + i, begin + t);
    }
    for (std::size_t first = 0; first < rest; first += kRows) {
      const std::size_t count = std::min(kRows, rest - first);
      product(count, width, rest, rows.data() + first * width, across.data(), rest, num_threads_, part.data());
      for (std::size_t i = 0; i < count; ++i) {
        double* const to = &at(end + first + i, end);
        for (std::size_t j = 0; j < rest; ++j) to[j] -= part[i * rest + j];
      }
    }
  }

  const std::size_t n_;
  const int num_threads_;
  double* const k_;
  std::vector<double> left_;  // what the pivots so far do not explain, by row
  std::vector<std::int64_t> pivots_;
  std::size_t rank_ = 0;
};

// X = L⁻¹, some rows at a time: X_B = L_BB⁻¹ (1 − L_B: X) with the rows of X above.
std::vector<double> inverse(const Factorization& factor, int num_threads) {
  const std::size_t n = factor.rank();
  std::vector<double> x(n * n, 0.0), rows, part;
  for (std::size_t begin = 0; begin < n; begin += kInverted) {
    const std::size_t count = std::min(kInverted, n - begin);
    rows.resize(count * begin), part.assign(count * begin, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t t = 0; t < begin; ++t) rows[i * begin + t] = factor.lower(begin + i, t);
    }
    product(count, begin, begin, rows.data(), x.data(), n, num_threads, part.data());
    for (std::size_t i = begin; i < begin + count; ++i) {
      double* const own = x.data() + i * n;
      std::copy_n(part.data() + (i - begin) * begin, begin, own);
      for (std::size_t t = begin; t < i; ++t) {
        const double factored = factor.lower(i, t);
        const double* const above = x.data() + t * n;
        for (std::size_t j = 0; j <= t; ++j) own[j] += factored * above[j];
      }
      const double diagonal = factor.lower(i, i);
      for (std::size_t j = 0; j < i; ++j) own[j] = -own[j] / diagonal;
      own[i] = 1 / diagonal;
    }
  }
  return x;
}

}  // namespace

InverseRoot inverse_root(std::size_t n, double* k, double least, int num_threads) {
  Factorization factor(n, k, num_threads);
  factor.run(least);
  const std::size_t rank = factor.rank();
  const std::vector<double> x = inverse(factor, num_threads);
  InverseRoot out{{factor.pivots().begin(), factor.pivots().end()}, std::vector<double>(rank * rank)};
  for (std::size_t i = 0; i < rank; ++i) {
    for (std::size_t j = 0; j <= i; ++j) out.basis[j * rank + i] = x[i * rank + j];
  }
  return out;
}

}  // namespace podium
