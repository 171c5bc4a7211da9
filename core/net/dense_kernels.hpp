// The kernels of dense.hpp; included once by each of the three files that build them.
#include <cstring>

#include "net/dense.hpp"
#if defined(__FMA__)
#include <immintrin.h>
#endif

namespace podium {
namespace {

// Where rows go that are read after these: to the second-level cache, for the first is full of what is still needed.
constexpr int kNextCache = 2;
constexpr std::size_t kPrefetch = 1024;  // how many features ahead memory is asked for: rows of a query are neighbors

#if defined(__FMA__)
struct Four {
  __m256d v;
};
inline Four load(const double* p) {
  return {_mm256_loadu_pd(p)};
}
inline void store(double* p, Four a) {
  _mm256_storeu_pd(p, a.v);
}
inline Four all(double x) {
  return {_mm256_set1_pd(x)};
}
inline Four mul_add(Four a, Four b, Four c) {
  return {_mm256_fmadd_pd(a.v, b.v, c.v)};
}
inline Four standardized(const float* x, const double* center, const double* scale, const double* filled) {
  const __m256d value = _mm256_cvtps_pd(_mm_loadu_ps(x));
  const __m256d moved = _mm256_mul_pd(_mm256_sub_pd(value, load(center).v), load(scale).v);
  return {_mm256_blendv_pd(moved, load(filled).v, _mm256_cmp_pd(value, value, _CMP_UNORD_Q))};
}
#else
struct Four {
  double v[4];
};
inline Four load(const double* p) {
  return {{p[0], p[1], p[2], p[3]}};
}
inline void store(double* p, Four a) {
  for (int k = 0; k < 4; ++k) p[k] = a.v[k];
}
inline Four all(double x) {
  return {{x, x, x, x}};
}
inline Four mul_add(Four a, Four b, Four c) {
  Four out;
  for (int k = 0; k < 4; ++k) out.v[k] = __builtin_fma(a.v[k], b.v[k], c.v[k]);
  return out;
}
#endif
inline double standardized(float x, double center, double scale, double filled) {
  const double value = x, moved = (value - center) * scale;
  return value == value ? moved : filled;
}
#if !defined(__FMA__)
inline Four standardized(const float* x, const double* center, const double* scale, const double* filled) {
  Four out;
  for (int k = 0; k < 4; ++k) out.v[k] = standardized(x[k], center[k], scale[k], filled[k]);
  return out;
}
#endif

// R rows of V vectors, from row r and column j on.
template <int R, int V>
inline void tile(const Product& p, std::size_t r, std::size_t j) {
  const std::size_t a_row = p.a_row, a_step = p.a_step;
  const double* const a = p.a + r * a_row;
  const double* const b = p.b + j;
  double* const c = p.c + r * p.c_row + j;
  Four sum[R][V];
#pragma GCC unroll 12
  for (int k = 0; k < R; ++k) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) sum[k][v] = p.start ? load(p.start + (r + k) * p.start_row + j + 4 * v) : all(0.0);
  }
  for (std::size_t t = 0; t < p.depth; ++t) {
    Four row[V];
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) row[v] = load(b + t * p.b_row + 4 * v);
#pragma GCC unroll 12
    for (int k = 0; k < R; ++k) {
      const Four x = all(a[k * a_row + t * a_step]);
#pragma GCC unroll 12
      for (int v = 0; v < V; ++v) sum[k][v] = mul_add(x, row[v], sum[k][v]);
    }
  }
#pragma GCC unroll 12
  for (int k = 0; k < R; ++k) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) store(c + k * p.c_row + 4 * v, sum[k][v]);
  }
}

template <int V>
void multiply_panel(const Product& p, std::size_t j) {
  std::size_t r = 0;
  for (; r + 4 <= p.rows; r += 4) tile<4, V>(p, r, j);
  for (; r + 2 <= p.rows; r += 2) tile<2, V>(p, r, j);
  for (; r < p.rows; ++r) tile<1, V>(p, r, j);
}

void multiply(const Product& p) {
  const std::size_t columns = round_up(p.columns, 4);
  std::size_t j = 0;
  for (; j + 12 <= columns; j += 12) multiply_panel<3>(p, j);
  if (columns - j == 8) {
    multiply_panel<2>(p, j);
  } else if (columns - j == 4) {
    multiply_panel<1>(p, j);
  }
}

// Lane k of the running sums takes the columns k, k + 8, k + 16, …, the last few of which are still to be added; the
// eight lanes are then added as a tree.
inline double sum_of_lanes(Four low, Four high, std::size_t count, const double* x, const double* w) {
  double lane[8];
  store(lane, low);
  store(lane + 4, high);
  for (std::size_t k = 0; k < count; ++k) lane[k] = __builtin_fma(x[k], w[k], lane[k]);
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

template <int R>
inline void dot_rows(std::size_t columns, const double* x, std::size_t x_row, const double* w, double bias, double* y) {
  Four low[R], high[R];
  for (int r = 0; r < R; ++r) low[r] = high[r] = all(0.0);
  std::size_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    const Four w0 = load(w + j), w1 = load(w + j + 4);
    for (int r = 0; r < R; ++r) {
      low[r] = mul_add(load(x + r * x_row + j), w0, low[r]);
      high[r] = mul_add(load(x + r * x_row + j + 4), w1, high[r]);
    }
  }
  for (int r = 0; r < R; ++r) {
    y[r] = sum_of_lanes(low[r], high[r], columns - j, x + r * x_row + j, w + j) + bias;
  }
}

void dots(std::size_t rows, std::size_t columns, const double* x, std::size_t x_row, const double* w, double bias,
          double* y) {
  std::size_t i = 0;
  for (; i + 4 <= rows; i += 4) dot_rows<4>(columns, x + i * x_row, x_row, w, bias, y + i);
  for (; i < rows; ++i) dot_rows<1>(columns, x + i * x_row, x_row, w, bias, y + i);
}

template <int V>
inline void add_tile(std::size_t rows, const double* d, const double* x, std::size_t x_row, double* g) {
  Four sum[V];
  for (int v = 0; v < V; ++v) sum[v] = load(g + 4 * v);
  for (std::size_t i = 0; i < rows; ++i) {
    const Four di = all(d[i]);
    for (int v = 0; v < V; ++v) sum[v] = mul_add(di, load(x + i * x_row + 4 * v), sum[v]);
  }
  for (int v = 0; v < V; ++v) store(g + 4 * v, sum[v]);
}

void add_rows(std::size_t rows, std::size_t columns, const double* d, const double* x, std::size_t x_row, double* g) {
  std::size_t j = 0;
  for (; j + 32 <= columns; j += 32) add_tile<8>(rows, d, x + j, x_row, g + j);
  for (; j + 4 <= columns; j += 4) add_tile<1>(rows, d, x + j, x_row, g + j);
  for (; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) g[j] = __builtin_fma(d[i], x[i * x_row + j], g[j]);
  }
}

void standardize(std::size_t rows, std::size_t columns, const FeatureRows& f, double* out, std::size_t out_row) {
  for (std::size_t i = 0; i < rows; ++i, out += out_row) {
    const float* const x = f.x + i * f.x_row;
    std::size_t j = 0;
    for (; j + 4 <= columns; j += 4) {
      if (j % 16 == 0) __builtin_prefetch(x + j + kPrefetch);
      store(out + j, standardized(x + j, f.center + j, f.scale + j, f.filled + j));
    }
    for (; j < columns; ++j) out[j] = standardized(x[j], f.center[j], f.scale[j], f.filled[j]);
  }
}

template <int R>
inline void feature_dot_rows(std::size_t columns, const FeatureRows& f, std::size_t first, const double* w, double bias,
                             double* y) {
  const float* const x = f.x + first * f.x_row;
  Four low[R], high[R];
  for (int r = 0; r < R; ++r) low[r] = high[r] = all(0.0);
  const auto four = [&](int r, std::size_t j) {
    return standardized(x + r * f.x_row + j, f.center + j, f.scale + j, f.filled + j);
  };
  std::size_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    const Four w0 = load(w + j), w1 = load(w + j + 4);
    for (int r = 0; r < R; ++r) {
      if (j % 16 == 0) __builtin_prefetch(x + r * f.x_row + j + kPrefetch);
      low[r] = mul_add(four(r, j), w0, low[r]);
      high[r] = mul_add(four(r, j + 4), w1, high[r]);
    }
  }
  for (int r = 0; r < R; ++r) {
    double rest[8];
    for (std::size_t k = j; k < columns; ++k) {
      rest[k - j] = standardized(x[r * f.x_row + k], f.center[k], f.scale[k], f.filled[k]);
    }
    y[r] = sum_of_lanes(low[r], high[r], columns - j, rest, w + j) + bias;
  }
}

void feature_dots(std::size_t rows, std::size_t columns, const FeatureRows& x, const double* w, double bias,
                  double* y) {
  std::size_t i = 0;
  for (; i + 4 <= rows; i += 4) feature_dot_rows<4>(columns, x, i, w, bias, y + i);
  for (; i < rows; ++i) feature_dot_rows<1>(columns, x, i, w, bias, y + i);
}

template <int V>
inline void add_feature_tile(std::size_t rows, std::size_t j, const double* d, const FeatureRows& f, double* g) {
  Four sum[V];
  for (int v = 0; v < V; ++v) sum[v] = load(g + j + 4 * v);
  for (std::size_t i = 0; i < rows; ++i) {
    const Four di = all(d[i]);
    __builtin_prefetch(f.x + i * f.x_row + j + f.next, 0, kNextCache);
    for (int v = 0; v < V; ++v) {
      const std::size_t k = j + 4 * v;
      sum[v] = mul_add(di, standardized(f.x + i * f.x_row + k, f.center + k, f.scale + k, f.filled + k), sum[v]);
    }
  }
  for (int v = 0; v < V; ++v) store(g + j + 4 * v, sum[v]);
}

void add_feature_rows(std::size_t rows, std::size_t columns, const double* d, const FeatureRows& x, double* g) {
  std::size_t j = 0;
  for (; j + 16 <= columns; j += 16) add_feature_tile<4>(rows, j, d, x, g);
  for (; j + 4 <= columns; j += 4) add_feature_tile<1>(rows, j, d, x, g);
  for (; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) {
      g[j] = __builtin_fma(d[i], standardized(x.x[i * x.x_row + j], x.center[j], x.scale[j], x.filled[j]), g[j]);
    }
  }
}

inline double exponential(double x) {
  x = x < -700 ? -700 : x;
  x = x > 700 ? 700 : x;
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number in the low bits
  const double shifted = __builtin_fma(x, 0x1.71547652b82fep0, kShift), whole = shifted - kShift;
  double r = __builtin_fma(whole, -0x1.62e42fefa39efp-1, x);
  r = __builtin_fma(whole, -0x1.abc9e3b39803fp-56, r);
  double p = 1.0 / 6227020800.0;  // e^r as its series: |r| < 0.35, so 14 terms leave less than a unit in the last place
  p = __builtin_fma(p, r, 1.0 / 479001600.0);
  p = __builtin_fma(p, r, 1.0 / 39916800.0);
  p = __builtin_fma(p, r, 1.0 / 3628800.0);
  p = __builtin_fma(p, r, 1.0 / 362880.0);
  p = __builtin_fma(p, r, 1.0 / 40320.0);
  p = __builtin_fma(p, r, 1.0 / 5040.0);
  p = __builtin_fma(p, r, 1.0 / 720.0);
  p = __builtin_fma(p, r, 1.0 / 120.0);
  p = __builtin_fma(p, r, 1.0 / 24.0);
  p = __builtin_fma(p, r, 1.0 / 6.0);
  p = __builtin_fma(p, r, 0.5);
  p = __builtin_fma(p, r, 1.0);
  p = __builtin_fma(p, r, 1.0);
  std::int64_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;
  double power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

void exponentials(std::size_t n, double* values) {
  for (std::size_t j = 0; j < n; ++j) values[j] = exponential(values[j]);
}

void activate(Activation activation, std::size_t n, double* values) {
  switch (activation) {
    case Activation::identity:
      return;
    case Activation::relu:
      for (std::size_t j = 0; j < n; ++j) values[j] = values[j] > 0 ? values[j] : 0.0;
      return;
    case Activation::sigmoid:
      for (std::size_t j = 0; j < n; ++j) values[j] = 1.0 / (1.0 + exponential(-values[j]));
      return;
    case Activation::tanh:
      for (std::size_t j = 0; j < n; ++j) values[j] = 1.0 - 2.0 / (1.0 + exponential(2.0 * values[j]));
      return;
  }
}

void times_slope(Activation activation, std::size_t n, const double* values, double* d) {
  switch (activation) {
    case Activation::identity:
      return;
    case Activation::relu:
      for (std::size_t j = 0; j < n; ++j) d[j] = values[j] > 0 ? d[j] : 0.0;
      return;
    case Activation::sigmoid:
      for (std::size_t j = 0; j < n; ++j) d[j] *= values[j] * (1.0 - values[j]);
      return;
    case Activation::tanh:
      for (std::size_t j = 0; j < n; ++j) d[j] *= 1.0 - values[j] * values[j];
      return;
  }
}

void step(std::size_t n, double rate, const double* g, double* w) {
  for (std::size_t j = 0; j < n; ++j) w[j] += rate * g[j];
}

void adam(std::size_t n, double rate, double epsilon, const double* g, double* m, double* v, double* w) {
  for (std::size_t j = 0; j < n; ++j) {
    m[j] += 0.1 * (g[j] - m[j]);
    v[j] += 0.001 * (g[j] * g[j] - v[j]);
    w[j] += rate * m[j] / (__builtin_sqrt(v[j]) + epsilon);
  }
}

constexpr DenseKernels kKernels{multiply,         dots,        add_rows,     feature_dots,
                                add_feature_rows, standardize, exponentials, activate,
                                times_slope,      step,        adam};

}  // namespace
}  // namespace podium
