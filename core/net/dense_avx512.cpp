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
};
struct NextRows {
  const float* x;
  std::size_t step;
  void ask(std::size_t t) const { __builtin_prefetch(x + t * step, 0, kNextCache); }
};

// R rows of V vectors from row r on, the last of which holds the numbers in `last`.
template <int R, int V, class Next>
inline void wide_tile(const Product& p, std::size_t r, __mmask8 last, const Next& next) {
  const auto mask = [&](int v) { return v + 1 < V ? __mmask8{0xFF} : last; };
  const std::size_t a_row = p.a_row, a_step = p.a_step;
  const double* const a = p.a + r * a_row;
  __m512d sum[R][V];
#pragma GCC unroll 12
  for (int k = 0; k < R; ++k) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) {
      sum[k][v] =
          p.start ? _mm512_maskz_loadu_pd(mask(v), p.start + (r + k) * p.start_row + 8 * v) : _mm512_setzero_pd();
    }
  }
  for (std::size_t t = 0; t < p.depth; ++t) {
    next.ask(t);
    __m512d row[V];
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) row[v] = _mm512_maskz_loadu_pd(mask(v), p.b + t * p.b_row + 8 * v);
#pragma GCC unroll 12
    for (int k = 0; k < R; ++k) {
      const __m512d x = _mm512_set1_pd(a[k * a_row + t * a_step]);
#pragma GCC unroll 12
      for (int v = 0; v < V; ++v) sum[k][v] = _mm512_fmadd_pd(x, row[v], sum[k][v]);
    }
  }
#pragma GCC unroll 12
  for (int k = 0; k < R; ++k) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) _mm512_mask_storeu_pd(p.c + (r + k) * p.c_row + 8 * v, mask(v), sum[k][v]);
  }
}

// As many rows at a time as there are registers for, from row r on.
template <int R, int V>
void multiply_wide_panel(const Product& p, std::size_t r = 0) {
  const __mmask8 last = first_of((p.columns - 1) % 8 + 1);
  const auto take = [&]<int N>() {
    for (; r + N <= p.rows; r += N) {
      if (p.next) {
        wide_tile<N, V>(p, r, last, NextRows{p.next + r, p.next_step});
      } else {
        wide_tile<N, V>(p, r, last, NothingNext{});
      }
    }
  };
  take.template operator()<R>();
  take.template operator()<4>();
  take.template operator()<2>();
  take.template operator()<1>();
}

// Products of few columns hold rows in the lanes of registers, so that no lane is idle whatever the number of columns.
constexpr std::size_t kLanes = 16, kSteps = 96;

// sums[j][lane] += Σ_t a[t][lane] · b[t][j] for C columns and V vectors of lanes.
template <int C, int V, class Next>
inline void add_lanes(std::size_t steps, const double* a, std::size_t a_step, __mmask8 last, const double* b,
                      std::size_t b_row, double (*sums)[kLanes], const Next& next) {
  const auto mask = [&](int v) { return v + 1 < V ? __mmask8{0xFF} : last; };
  __m512d sum[C][V];
#pragma GCC unroll 12
  for (int j = 0; j < C; ++j) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) sum[j][v] = _mm512_load_pd(sums[j] + 8 * v);
  }
  for (std::size_t t = 0; t < steps; ++t) {
    next.ask(t);
    __m512d x[V];
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) x[v] = _mm512_maskz_loadu_pd(mask(v), a + t * a_step + 8 * v);
#pragma GCC unroll 12
    for (int j = 0; j < C; ++j) {
      const __m512d factor = _mm512_set1_pd(b[t * b_row + j]);
#pragma GCC unroll 12
      for (int v = 0; v < V; ++v) sum[j][v] = _mm512_fmadd_pd(x[v], factor, sum[j][v]);
    }
  }
#pragma GCC unroll 12
  for (int j = 0; j < C; ++j) {
#pragma GCC unroll 12
    for (int v = 0; v < V; ++v) _mm512_store_pd(sums[j] + 8 * v, sum[j][v]);
  }
}

// The first `count` of eight columns of eight rows, as rows of kLanes.
inline void transpose(const double* rows, std::size_t stride, std::size_t count, double* out) {
  const __mmask8 held = first_of(count);
  __m512d row[8], pair[8], four[8];
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r) row[r] = _mm512_maskz_loadu_pd(held, rows + r * stride);
#pragma GCC unroll 8
  for (int r = 0; r < 8; r += 2) {
    pair[r] = _mm512_unpacklo_pd(row[r], row[r + 1]), pair[r + 1] = _mm512_unpackhi_pd(row[r], row[r + 1]);
  }
#pragma GCC unroll 8
  for (int h = 0; h < 8; h += 4) {  // columns 0 and 4, 1 and 5, 2 and 6, 3 and 7 of four rows
    four[h] = _mm512_shuffle_f64x2(pair[h], pair[h + 2], 0x88);
    four[h + 1] = _mm512_shuffle_f64x2(pair[h + 1], pair[h + 3], 0x88);
    four[h + 2] = _mm512_shuffle_f64x2(pair[h], pair[h + 2], 0xDD);
    four[h + 3] = _mm512_shuffle_f64x2(pair[h + 1], pair[h + 3], 0xDD);
  }
#pragma GCC unroll 8
  for (int c = 0; c < 4; ++c) {
    _mm512_store_pd(out + c * kLanes, _mm512_shuffle_f64x2(four[c], four[c + 4], 0x88));
    _mm512_store_pd(out + (c + 4) * kLanes, _mm512_shuffle_f64x2(four[c], four[c + 4], 0xDD));
  }
}

// V vectors of rows from row r on, `count` of which exist.
template <int C, int V>
inline void multiply_lanes(const Product& p, std::size_t r, std::size_t count) {
  alignas(64) double sums[C][kLanes];
#pragma GCC unroll 12
  for (int j = 0; j < C; ++j) {
    if (!p.start || p.start_row == 0) {
      const __m512d value = _mm512_set1_pd(p.start ? p.start[j] : 0.0);
      for (int v = 0; v < V; ++v) _mm512_store_pd(sums[j] + 8 * v, value);
    } else {
      for (std::size_t k = 0; k < count; ++k) sums[j][k] = p.start[(r + k) * p.start_row + j];
    }
  }
  const __mmask8 last = first_of(count - 8 * (V - 1));
  if (p.a_row != 1) {
    alignas(64) double turned[kSteps][kLanes];
    for (std::size_t t = 0; t < p.depth; t += kSteps) {
      const std::size_t steps = p.depth - t < kSteps ? p.depth - t : kSteps;
      for (std::size_t s = 0; s < steps; s += 8) {
        for (int v = 0; v < V; ++v) {
          transpose(p.a + (r + 8 * v) * p.a_row + t + s, p.a_row, steps - s < 8 ? steps - s : 8, turned[s] + 8 * v);
        }
      }
      add_lanes<C, V>(steps, turned[0], kLanes, last, p.b + t * p.b_row, p.b_row, sums, NothingNext{});
    }
  } else if (p.next) {
    add_lanes<C, V>(p.depth, p.a + r, p.a_step, last, p.b, p.b_row, sums, NextRows{p.next + r, p.next_step});
  } else {
    add_lanes<C, V>(p.depth, p.a + r, p.a_step, last, p.b, p.b_row, sums, NothingNext{});
  }
  for (std::size_t k = 0; k < count; ++k) {
#pragma GCC unroll 12
    for (int j = 0; j < C; ++j) p.c[(r + k) * p.c_row + j] = sums[j][k];
  }
}

template <int C>
void multiply_few(const Product& p) {
  std::size_t r = 0;
  for (; r + 16 <= p.rows; r += 16) multiply_lanes<C, 2>(p, r, 16);
  if (p.a_row == 1) {
    if (p.rows - r > 8) return multiply_lanes<C, 2>(p, r, p.rows - r);
    if (r < p.rows) multiply_lanes<C, 1>(p, r, p.rows - r);
    return;
  }
  if (r + 8 <= p.rows) multiply_lanes<C, 1>(p, r, 8), r += 8;
  multiply_wide_panel<4, (C + 7) / 8>(p, r);
}

void multiply_wide(const Product& p) {
  if (p.columns <= kFewColumns && (p.a_row == 1 || p.a_step == 1)) {
    switch ((p.columns + 1) / 2) {
      case 1:
        return multiply_few<2>(p);
      case 2:
        return multiply_few<4>(p);
      case 3:
        return multiply_few<6>(p);
      case 4:
        return multiply_few<8>(p);
      case 5:
        return multiply_few<10>(p);
      case 6:
        return multiply_few<12>(p);
    }
  }
  if (p.columns > 24) {
    multiply_wide_panel<6, 4>(p);
  } else if (p.columns > 16) {
    multiply_wide_panel<8, 3>(p);
  } else if (p.columns > 8) {
    multiply_wide_panel<12, 2>(p);
  } else {
    multiply_wide_panel<12, 1>(p);
  }
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
  for (; columns - j > 16; j += 16) wide_add_tile<2>(rows, d, x + j, x_row, g + j, 0xFF);
  if (columns - j > 8) return wide_add_tile<2>(rows, d, x + j, x_row, g + j, first_of(columns - j - 8));
  if (columns > j) wide_add_tile<1>(rows, d, x + j, x_row, g + j, first_of(columns - j));
}

// Eight columns of a net's inputs, from features.
struct WideMap {
  __m512d center, scale, filled;
  WideMap(const FeatureRows& f, std::size_t j, __mmask8 held)
      : center(_mm512_maskz_loadu_pd(held, f.center + j)),
        scale(_mm512_maskz_loadu_pd(held, f.scale + j)),
        filled(_mm512_maskz_loadu_pd(held, f.filled + j)) {}
  inline __m512d operator()(const float* x, __mmask8 held) const {
    const __m256 value = _mm256_maskz_loadu_ps(held, x);
    const __m512d moved = _mm512_mul_pd(_mm512_sub_pd(_mm512_cvtps_pd(value), center), scale);
    return _mm512_mask_mov_pd(moved, _mm256_cmp_ps_mask(value, value, _CMP_UNORD_Q), filled);
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
      if (v % 2 == 0) __builtin_prefetch(x + f.next, 0, kNextCache);
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

// The map is a copy, because the compiler would read a shared one again after each vector that is stored.
template <int R>
inline void standardize_rows(std::size_t columns, const FeatureRows f, std::size_t first, double* out,
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
  kernels.feature_dots = wide_feature_dots, kernels.add_feature_rows = wide_add_feature_rows;
  kernels.standardize = wide_standardize;
  return kernels;
}

}  // namespace

const DenseKernels dense_avx512 = widened();

}  // namespace podium
#endif
