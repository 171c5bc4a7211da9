// Built with AVX-512. It includes nothing that other files share code with, so that no instruction of these can reach a
// machine without them. The sums have the order of the narrower kernels; what follows replaces those that gain from
// registers of eight numbers.
#if defined(__x86_64__)
#include "net/dense_kernels.hpp"

namespace podium {
namespace {

// The first `count` of eight numbers.
inline __mmask8 first_of(std::size_t count) {
  return static_cast<__mmask8>((1u << count) - 1);
}

// The memory that a product asks for in each step: none, or a number of the rows that will be read next.
struct NothingNext {
  void ask(std::size_t) const {}
  void skip(std::size_t) {}
};
struct NextRows {
  const float* x;
  std::size_t step;
  void ask(std::size_t t) const { __builtin_prefetch(x + t * step); }
  void skip(std::size_t rows) { x += rows; }
};

// R rows of V vectors, the last of which holds the numbers in `last`.
template <int R, int V, class Next>
inline void wide_tile(std::size_t depth, const double* a, std::size_t a_row, std::size_t a_step, const double* b,
                      std::size_t b_row, double* c, std::size_t c_row, __mmask8 last, const Next& next) {
  const auto mask = [&](int v) { return v + 1 < V ? __mmask8{0xFF} : last; };
  __m512d sum[R][V];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) sum[r][v] = _mm512_maskz_loadu_pd(mask(v), c + r * c_row + 8 * v);
  }
  for (std::size_t t = 0; t < depth; ++t) {
    next.ask(t);
    __m512d row[V];
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) row[v] = _mm512_maskz_loadu_pd(mask(v), b + t * b_row + 8 * v);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      const __m512d x = _mm512_set1_pd(a[r * a_row + t * a_step]);
#pragma GCC unroll 12
      for (int v = 0; v < V; ++v) sum[r][v] = _mm512_fmadd_pd(x, row[v], sum[r][v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) _mm512_mask_storeu_pd(c + r * c_row + 8 * v, mask(v), sum[r][v]);
  }
}

// As many rows at a time as there are registers for.
template <int R, int V, class Next>
void multiply_wide_panel(std::size_t rows, std::size_t depth, const double* a, std::size_t a_row, std::size_t a_step,
                         const double* b, std::size_t b_row, double* c, std::size_t c_row, __mmask8 last, Next next) {
  std::size_t r = 0;
  const auto take = [&]<int N>() {
    for (; r + N <= rows; r += N, next.skip(N)) {
      wide_tile<N, V>(depth, a + r * a_row, a_row, a_step, b, b_row, c + r * c_row, c_row, last, next);
    }
  };
  take.template operator()<R>();
  take.template operator()<4>();
  take.template operator()<1>();
}

// Rows of 12 numbers, two at a time: eight numbers of each fill a register, and the last four of both another one.
template <int R, class Next>
inline void tile_of_12(std::size_t depth, const double* a, std::size_t a_row, std::size_t a_step, const double* b,
                       std::size_t b_row, double* c, std::size_t c_row, const Next& next) {
  const auto joined = [](__m256d low, __m256d high) {
    return _mm512_insertf64x4(_mm512_castpd256_pd512(low), high, 1);
  };
  __m512d first[R], rest[R / 2];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) first[r] = _mm512_loadu_pd(c + r * c_row);
#pragma GCC unroll 12
  for (int r = 0; r < R; r += 2) {
    rest[r / 2] = joined(_mm256_loadu_pd(c + r * c_row + 8), _mm256_loadu_pd(c + (r + 1) * c_row + 8));
  }
  for (std::size_t t = 0; t < depth; ++t) {
    next.ask(t);
    const __m512d row = _mm512_loadu_pd(b + t * b_row);
    const __m512d tail = _mm512_broadcast_f64x4(_mm256_loadu_pd(b + t * b_row + 8));
#pragma GCC unroll 12
    for (int r = 0; r < R; r += 2) {
      const __m512d even = _mm512_set1_pd(a[r * a_row + t * a_step]);
      const __m512d odd = _mm512_set1_pd(a[(r + 1) * a_row + t * a_step]);
      first[r] = _mm512_fmadd_pd(even, row, first[r]);
      first[r + 1] = _mm512_fmadd_pd(odd, row, first[r + 1]);
      rest[r / 2] = _mm512_fmadd_pd(_mm512_mask_mov_pd(even, 0xF0, odd), tail, rest[r / 2]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) _mm512_storeu_pd(c + r * c_row, first[r]);
#pragma GCC unroll 12
  for (int r = 0; r < R; r += 2) {
    _mm256_storeu_pd(c + r * c_row + 8, _mm512_castpd512_pd256(rest[r / 2]));
    _mm256_storeu_pd(c + (r + 1) * c_row + 8, _mm512_extractf64x4_pd(rest[r / 2], 1));
  }
}

template <class Next>
void multiply_any(std::size_t rows, std::size_t columns, std::size_t depth, const double* a, std::size_t a_row,
                  std::size_t a_step, const double* b, std::size_t b_row, double* c, std::size_t c_row, Next next) {
  const __mmask8 last = first_of((columns - 1) % 8 + 1);
  if (columns == 12) {
    for (; rows >= 12; rows -= 12, a += 12 * a_row, c += 12 * c_row, next.skip(12)) {
      tile_of_12<12>(depth, a, a_row, a_step, b, b_row, c, c_row, next);
    }
  }
  if (columns > 24) {
    multiply_wide_panel<6, 4>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, last, next);
  } else if (columns > 16) {
    multiply_wide_panel<8, 3>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, last, next);
  } else if (columns > 8) {
    multiply_wide_panel<12, 2>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, last, next);
  } else {
    multiply_wide_panel<12, 1>(rows, depth, a, a_row, a_step, b, b_row, c, c_row, last, next);
  }
}

void multiply_wide(std::size_t rows, std::size_t columns, std::size_t depth, const double* a, std::size_t a_row,
                   std::size_t a_step, const double* b, std::size_t b_row, double* c, std::size_t c_row) {
  multiply_any(rows, columns, depth, a, a_row, a_step, b, b_row, c, c_row, NothingNext{});
}

void multiply_wide_columns(std::size_t rows, std::size_t columns, std::size_t depth, const double* a,
                           std::size_t a_step, const double* b, std::size_t b_row, double* c, std::size_t c_row,
                           const float* next, std::size_t next_step) {
  multiply_any(rows, columns, depth, a, 1, a_step, b, b_row, c, c_row, NextRows{next, next_step});
}

inline double sum_of_lanes(__m512d lanes) {
  double lane[4];
  _mm256_storeu_pd(lane, _mm256_add_pd(_mm512_castpd512_pd256(lanes), _mm512_extractf64x4_pd(lanes, 1)));
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

// One register holds the eight lanes of dot_rows.
template <int R>
inline void wide_dot_rows(std::size_t columns, const double* x, std::size_t x_row, const double* w, double bias,
                          double* y) {
  __m512d lanes[R];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) lanes[r] = _mm512_setzero_pd();
  std::size_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    const __m512d part = _mm512_loadu_pd(w + j);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) lanes[r] = _mm512_fmadd_pd(_mm512_loadu_pd(x + r * x_row + j), part, lanes[r]);
  }
  if (const __mmask8 rest = first_of(columns - j)) {
    const __m512d part = _mm512_maskz_loadu_pd(rest, w + j);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      lanes[r] = _mm512_mask3_fmadd_pd(_mm512_maskz_loadu_pd(rest, x + r * x_row + j), part, lanes[r], rest);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) y[r] = sum_of_lanes(lanes[r]) + bias;
}

void wide_dots(std::size_t rows, std::size_t columns, const double* x, std::size_t x_row, const double* w, double bias,
               double* y) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8) wide_dot_rows<8>(columns, x + i * x_row, x_row, w, bias, y + i);
  for (; i < rows; ++i) wide_dot_rows<1>(columns, x + i * x_row, x_row, w, bias, y + i);
}

template <int V>
inline void wide_add_tile(std::size_t rows, const double* d, const double* x, std::size_t x_row, double* g,
                          __mmask8 last) {
  const auto mask = [&](int v) { return v + 1 < V ? __mmask8{0xFF} : last; };
  __m512d sum[V];
#pragma GCC unroll 12
  for (int v = 0; v < V; ++v) sum[v] = _mm512_maskz_loadu_pd(mask(v), g + 8 * v);
  for (std::size_t i = 0; i < rows; ++i) {
    const __m512d di = _mm512_set1_pd(d[i]);
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) {
      sum[v] = _mm512_fmadd_pd(di, _mm512_maskz_loadu_pd(mask(v), x + i * x_row + 8 * v), sum[v]);
    }
  }
#pragma GCC unroll 12
  for (int v = 0; v < V; ++v) _mm512_mask_storeu_pd(g + 8 * v, mask(v), sum[v]);
}

void wide_add_rows(std::size_t rows, std::size_t columns, const double* d, const double* x, std::size_t x_row,
                   double* g) {
  std::size_t j = 0;
  for (; j + 64 <= columns; j += 64) wide_add_tile<8>(rows, d, x + j, x_row, g + j, 0xFF);
  for (; j < columns; j += 8) {
    wide_add_tile<1>(rows, d, x + j, x_row, g + j, first_of(columns - j < 8 ? columns - j : 8));
  }
}

// Eight columns of a net's inputs, from features.
struct WideMap {
  __m512d center, scale, filled;
  WideMap(const FeatureRows& f, std::size_t j, __mmask8 held)
      : center(_mm512_maskz_loadu_pd(held, f.center + j)),
        scale(_mm512_maskz_loadu_pd(held, f.scale + j)),
        filled(_mm512_maskz_loadu_pd(held, f.filled + j)) {}
  inline __m512d operator()(const float* x, __mmask8 held) const {
    const __m512d value = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(held, x));
    const __m512d moved = _mm512_mul_pd(_mm512_sub_pd(value, center), scale);
    return _mm512_mask_mov_pd(moved, _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), filled);
  }
};

template <int R>
inline void wide_feature_dot_rows(std::size_t columns, const FeatureRows& f, std::size_t first, const double* w,
                                  double bias, double* y) {
  const float* const x = f.x + first * f.x_row;
  __m512d lanes[R];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) lanes[r] = _mm512_setzero_pd();
  std::size_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    const WideMap map(f, j, 0xFF);
    const __m512d part = _mm512_loadu_pd(w + j);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      if (j % 16 == 0) __builtin_prefetch(x + r * f.x_row + j + kPrefetch);
      lanes[r] = _mm512_fmadd_pd(map(x + r * f.x_row + j, 0xFF), part, lanes[r]);
    }
  }
  if (const __mmask8 rest = first_of(columns - j)) {
    const WideMap map(f, j, rest);
    const __m512d part = _mm512_maskz_loadu_pd(rest, w + j);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      lanes[r] = _mm512_mask3_fmadd_pd(map(x + r * f.x_row + j, rest), part, lanes[r], rest);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) y[r] = sum_of_lanes(lanes[r]) + bias;
}

void wide_feature_dots(std::size_t rows, std::size_t columns, const FeatureRows& x, const double* w, double bias,
                       double* y) {
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8) wide_feature_dot_rows<8>(columns, x, i, w, bias, y + i);
  for (; i < rows; ++i) wide_feature_dot_rows<1>(columns, x, i, w, bias, y + i);
}

template <int V>
inline void wide_add_feature_tile(std::size_t rows, std::size_t j, const double* d, const FeatureRows& f, double* g,
                                  __mmask8 last) {
  const auto mask = [&](int v) { return v + 1 < V ? __mmask8{0xFF} : last; };
  __m512d sum[V], center[V], scale[V], filled[V];
#pragma GCC unroll 12
  for (int v = 0; v < V; ++v) {
    sum[v] = _mm512_maskz_loadu_pd(mask(v), g + j + 8 * v);
    center[v] = _mm512_maskz_loadu_pd(mask(v), f.center + j + 8 * v);
    scale[v] = _mm512_maskz_loadu_pd(mask(v), f.scale + j + 8 * v);
    filled[v] = _mm512_maskz_loadu_pd(mask(v), f.filled + j + 8 * v);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const __m512d di = _mm512_set1_pd(d[i]);
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) {
      const float* const x = f.x + i * f.x_row + j + 8 * v;
      if (v % 2 == 0) __builtin_prefetch(x + f.next);
      const __m512d value = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask(v), x));
      const __m512d moved = _mm512_mul_pd(_mm512_sub_pd(value, center[v]), scale[v]);
      const __m512d in = _mm512_mask_mov_pd(moved, _mm512_cmp_pd_mask(value, value, _CMP_UNORD_Q), filled[v]);
      sum[v] = _mm512_fmadd_pd(di, in, sum[v]);
    }
  }
#pragma GCC unroll 12
  for (int v = 0; v < V; ++v) _mm512_mask_storeu_pd(g + j + 8 * v, mask(v), sum[v]);
}

void wide_add_feature_rows(std::size_t rows, std::size_t columns, const double* d, const FeatureRows& x, double* g) {
  std::size_t j = 0;
  for (; columns - j > 40; j += 32) wide_add_feature_tile<4>(rows, j, d, x, g, 0xFF);
  const __mmask8 last = first_of((columns - j - 1) % 8 + 1);
  switch ((columns - j + 7) / 8) {
    case 5:
      return wide_add_feature_tile<5>(rows, j, d, x, g, last);
    case 4:
      return wide_add_feature_tile<4>(rows, j, d, x, g, last);
    case 3:
      return wide_add_feature_tile<3>(rows, j, d, x, g, last);
    case 2:
      return wide_add_feature_tile<2>(rows, j, d, x, g, last);
    case 1:
      return wide_add_feature_tile<1>(rows, j, d, x, g, last);
  }
}

template <int R>
inline void standardize_rows(std::size_t columns, const FeatureRows& f, std::size_t first, double* out,
                             std::size_t out_row) {
  const float* const x = f.x + first * f.x_row;
  std::size_t j = 0;
  for (; j + 8 <= columns; j += 8) {
    const WideMap map(f, j, 0xFF);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      if (j % 16 == 0) __builtin_prefetch(x + r * f.x_row + j + kPrefetch);
      _mm512_storeu_pd(out + r * out_row + j, map(x + r * f.x_row + j, 0xFF));
    }
  }
  if (const __mmask8 rest = first_of(columns - j)) {
    const WideMap map(f, j, rest);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) {
      _mm512_mask_storeu_pd(out + r * out_row + j, rest, map(x + r * f.x_row + j, rest));
    }
  }
}

void wide_standardize(std::size_t rows, std::size_t columns, const FeatureRows& x, double* out, std::size_t out_row) {
  std::size_t i = 0;
  for (; i + 4 <= rows; i += 4) standardize_rows<4>(columns, x, i, out + i * out_row, out_row);
  for (; i < rows; ++i) standardize_rows<1>(columns, x, i, out + i * out_row, out_row);
}

constexpr DenseKernels widened() {
  DenseKernels kernels = kKernels;
  kernels.multiply = multiply_wide, kernels.dots = wide_dots, kernels.add_rows = wide_add_rows;
  kernels.multiply_columns = multiply_wide_columns;
  kernels.feature_dots = wide_feature_dots, kernels.add_feature_rows = wide_add_feature_rows;
  kernels.standardize = wide_standardize;
  return kernels;
}

}  // namespace

const DenseKernels dense_avx512 = widened();

}  // namespace podium
#endif
