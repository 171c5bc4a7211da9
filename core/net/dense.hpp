// The arithmetic of dense layers in float64. Three builds, for AVX-512, for AVX2 with FMA and for neither, give the
// same bits: every sum has one written order, and every multiply-add is fused in all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podium {

enum class Activation { identity, tanh, sigmoid, relu };

// Columns of a matrix that are processed at once; the last panel of a matrix can be narrower, by a multiple of 4. Wide
// panels hold the weights of layers.
inline constexpr std::size_t kPanel = 12, kWidePanel = 32;
// Products of so few columns are fastest for 16 rows at a time.
inline constexpr std::size_t kFewColumns = 12;

inline constexpr std::size_t round_up(std::size_t n, std::size_t step) {
  return (n + step - 1) / step * step;
}
// The distance between rows of a matrix: whole vectors, and never a multiple of 256 bytes, which would put the rows
// into a few sets of the cache.
inline constexpr std::size_t row_stride(std::size_t columns) {
  const std::size_t whole = round_up(columns, 4);
  return whole % 32 == 0 ? whole + 4 : whole;
}

// Rows of features as inputs of a net: x̂[j] = (x[j] − center[j]) · scale[j], or filled[j] if x[j] is missing.
struct FeatureRows {
  const float* x;
  std::size_t x_row;  // the distance between rows
  const double *center, *scale, *filled;
  std::ptrdiff_t next = 0;  // the distance to the rows that will be read after these
};

// c[r][j] = start[r][j] + Σ_t a(r, t) · b[t][j] for r < rows, t < depth, j < columns ≤ kWidePanel, where a(r, t) =
// a[r·a_row + t·a_step]. Rows of b, c and start are padded to a multiple of 4 columns; what c then holds in the padding
// is a product of the padding, or what it held before.
struct Product {
  std::size_t rows, columns, depth;
  const double* a;
  std::size_t a_row, a_step;
  const double* b;
  std::size_t b_row;
  const double* start;  // c itself, a row for all (start_row = 0), or null for zeros
  std::size_t start_row;
  double* c;
  std::size_t c_row;
  // Where it is not null, all next[r + t·next_step] are prefetched.
  const float* next = nullptr;
  std::size_t next_step = 0;
};

struct DenseKernels {
  void (*multiply)(const Product& product);
  // y[i] = x_i · w + bias.
  void (*dots)(std::size_t rows, std::size_t columns, const double* x, std::size_t x_row, const double* w, double bias,
               double* y);
  // g[j] += Σ_i d[i] · x[i][j].
  void (*add_rows)(std::size_t rows, std::size_t columns, const double* d, const double* x, std::size_t x_row,
                   double* g);
  // The same of inputs that are computed on the way: y[i] = x̂_i · w + bias, and g[j] += Σ_i d[i] · x̂[i][j], where
  // memory is asked for the next rows.
  void (*feature_dots)(std::size_t rows, std::size_t columns, const FeatureRows& x, const double* w, double bias,
                       double* y);
  void (*add_feature_rows)(std::size_t rows, std::size_t columns, const double* d, const FeatureRows& x, double* g);
  // out[i][j] = x̂[i][j].
  void (*standardize)(std::size_t rows, std::size_t columns, const FeatureRows& x, double* out, std::size_t out_row);
  // values[j] = e^{values[j]}.
  void (*exponentials)(std::size_t n, double* values);
  void (*activate)(Activation activation, std::size_t n, double* values);
  // d[j] *= slope of the activation, computed from its value.
  void (*times_slope)(Activation activation, std::size_t n, const double* values, double* d);
  // w += rate · g.
  void (*step)(std::size_t n, double rate, const double* g, double* w);
  // Adam's step up the force g: w += rate · m / (√v + epsilon), where `rate` and `epsilon` carry the corrections of the
  // moments. [Kingma and Ba 2015]
  void (*adam)(std::size_t n, double rate, double epsilon, const double* g, double* m, double* v, double* w);
};

const DenseKernels& dense_kernels();

extern const DenseKernels dense_portable;
#if defined(__x86_64__)
extern const DenseKernels dense_avx2, dense_avx512;
#endif

}  // namespace podium
