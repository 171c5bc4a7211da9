#include "trees/bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "dispatch.hpp"
#include "parallel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace podium {
namespace {

// Numbers of 32 bits in the same order as the values.
std::uint32_t key_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value == 0 ? 0.0f : value);
  return bits ^ (static_cast<std::uint32_t>(-static_cast<std::int32_t>(bits >> 31)) | 0x80000000u);
}

float value_of(std::uint32_t key) {
  const std::uint32_t mask = ((key >> 31) - 1) | 0x80000000u;
  return std::bit_cast<float>(key ^ mask);
}

void radix_sort(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& spare) {
  constexpr int kBits = 11;
  spare.resize(keys.size());
  std::vector<std::uint32_t> starts(std::size_t{1} << kBits);
  for (int shift = 0; shift < 32; shift += kBits) {
    std::fill(starts.begin(), starts.end(), 0);
    for (const std::uint32_t key : keys) ++starts[(key >> shift) & ((1u << kBits) - 1)];
    std::uint32_t at = 0;
    for (std::uint32_t& start : starts) at += std::exchange(start, at);
    for (const std::uint32_t key : keys) spare[starts[(key >> shift) & ((1u << kBits) - 1)]++] = key;
    keys.swap(spare);
  }
}

struct Distinct {
  std::vector<float> values;
  std::vector<std::int64_t> counts;
};

float between(float low, float high) {
  const float middle = low + (high - low) / 2;
  return middle < high && middle >= low ? middle : low;
}

// Equal shares of the rows that are left for the bins that are left; a value with more than a share gets a bin of its
// own.
std::vector<float> share_out(const Distinct& distinct, std::size_t most) {
  const std::size_t n = distinct.values.size();
  std::int64_t rows = 0, heavy_rows = 0;
  for (const std::int64_t count : distinct.counts) rows += count;
  const double mean = static_cast<double>(rows) / static_cast<double>(most);
  std::size_t heavy = 0;
  std::vector<bool> alone(n);
  for (std::size_t k = 0; k < n; ++k) {
    if (static_cast<double>(distinct.counts[k]) < mean) continue;
    alone[k] = true, ++heavy, heavy_rows += distinct.counts[k];
  }
  std::int64_t rows_left = rows - heavy_rows;
  std::size_t bins_left = most - heavy;
  std::vector<float> cuts;
  std::int64_t held = 0;
  double share = bins_left ? static_cast<double>(rows_left) / static_cast<double>(bins_left) : 0;
  for (std::size_t k = 0; k + 1 < n && cuts.size() + 1 < most; ++k) {
    held += distinct.counts[k];
    if (!alone[k]) rows_left -= distinct.counts[k];
    const bool full = static_cast<double>(held) >= share;
    if (!alone[k] && !full && !(alone[k + 1] && static_cast<double>(held) >= std::max(1.0, share / 2))) continue;
    cuts.push_back(between(distinct.values[k], distinct.values[k + 1]));
    held = 0;
    if (alone[k]) continue;
    if (bins_left > 1) --bins_left;
    share = static_cast<double>(rows_left) / static_cast<double>(bins_left);
  }
  return cuts;
}

FeatureBins cut_numbers(const Distinct& distinct, std::size_t most) {
  FeatureBins out;
  const std::size_t n = distinct.values.size();
  if (n > most) {
    out.cuts = share_out(distinct, most);
    return out;
  }
  for (std::size_t k = 0; k + 1 < n; ++k) out.cuts.push_back(between(distinct.values[k], distinct.values[k + 1]));
  return out;
}

FeatureBins cut_categories(const Distinct& distinct, std::size_t most) {
  std::vector<std::size_t> order(distinct.values.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distinct.counts[a] > distinct.counts[b]; });
  order.resize(std::min(order.size(), most));
  FeatureBins out;
  out.categorical = true;
  for (const std::size_t k : order) out.cuts.push_back(distinct.values[k]);
  std::sort(out.cuts.begin(), out.cuts.end());
  return out;
}

constexpr std::size_t kLine = 16;  // floats of a cache line: features that are gathered together

std::size_t search_portable(const float* cuts, std::size_t count, float value) {
  return static_cast<std::size_t>(std::lower_bound(cuts, cuts + count, value) - cuts);
}

#if defined(__x86_64__)
__attribute__((target("avx2,popcnt"))) std::size_t below16(const float* cuts, __m256 value) {
  const int low = _mm256_movemask_ps(_mm256_cmp_ps(value, _mm256_loadu_ps(cuts), _CMP_GT_OQ));
  const int high = _mm256_movemask_ps(_mm256_cmp_ps(value, _mm256_loadu_ps(cuts + 8), _CMP_GT_OQ));
  return static_cast<std::size_t>(__builtin_popcount(static_cast<unsigned>(low | (high << 8))));
}

template <class T>
__attribute__((target("avx2,popcnt"))) void search_avx2(const float* pivots, const float* cuts, bool one_level,
                                                        const T* values, std::ptrdiff_t stride, std::size_t count,
                                                        std::uint8_t* out) {
  for (std::size_t i = 0; i < count; ++i, values += stride) {
    const auto value = static_cast<float>(*values);
    const __m256 wide = _mm256_set1_ps(value);
    const std::size_t group = one_level ? 0 : below16(pivots, wide);
    const std::size_t bin = 16 * group + below16(cuts + 16 * group, wide);
    out[i] = value == value ? static_cast<std::uint8_t>(bin) : kMissingBin;
  }
}

template <class T>
__attribute__((target("avx512f,popcnt"))) void search_avx512(const float* pivots, const float* cuts, bool one_level,
                                                             const T* values, std::ptrdiff_t stride, std::size_t count,
                                                             std::uint8_t* out) {
  const __m512 first = _mm512_loadu_ps(one_level ? cuts : pivots);
  for (std::size_t i = 0; i < count; ++i, values += stride) {
    const auto value = static_cast<float>(*values);
    const __m512 wide = _mm512_set1_ps(value);
    auto bin = static_cast<std::size_t>(__builtin_popcount(_mm512_cmp_ps_mask(wide, first, _CMP_GT_OQ)));
    if (!one_level) {
      const __m512 second = _mm512_loadu_ps(cuts + 16 * bin);
      bin = 16 * bin + static_cast<std::size_t>(__builtin_popcount(_mm512_cmp_ps_mask(wide, second, _CMP_GT_OQ)));
    }
    out[i] = value == value ? static_cast<std::uint8_t>(bin) : kMissingBin;
  }
}
#endif

}  // namespace

std::uint8_t FeatureBins::bin(float value) const {
  if (std::isnan(value)) return kMissingBin;
  const std::size_t place = search_portable(cuts.data(), cuts.size(), value);
  if (categorical && (place == cuts.size() || cuts[place] != value)) return kMissingBin;
  return static_cast<std::uint8_t>(place);
}

std::vector<FeatureBins> choose_bins(std::span<const float* const> sample, std::size_t features, std::size_t max_bins,
                                     std::span<const std::uint8_t> categorical, int num_threads) {
  std::vector<FeatureBins> out(features);
  parallel_for(features, num_threads, kLine, [&](std::size_t first, std::size_t last) {
    std::vector<std::vector<std::uint32_t>> keys(last - first);
    for (auto& column : keys) column.reserve(sample.size());
    for (const float* values : sample) {
      for (std::size_t f = first; f < last; ++f) {
        if (!std::isnan(values[f])) keys[f - first].push_back(key_of(values[f]));
      }
    }
    std::vector<std::uint32_t> spare;
    for (std::size_t f = first; f < last; ++f) {
      auto& column = keys[f - first];
      const bool has_missing = column.size() < sample.size();
      radix_sort(column, spare);
      Distinct distinct;
      for (std::size_t k = 0; k < column.size(); ++k) {
        if (k > 0 && column[k] == column[k - 1]) {
          ++distinct.counts.back();
        } else {
          distinct.values.push_back(value_of(column[k]));
          distinct.counts.push_back(1);
        }
      }
      const bool category = !categorical.empty() && categorical[f];
      out[f] = category ? cut_categories(distinct, max_bins) : cut_numbers(distinct, max_bins);
      out[f].has_missing = has_missing;
    }
  });
  return out;
}

Binner::Binner(std::span<const FeatureBins> features) : searches_(features.size()) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (std::size_t f = 0; f < features.size(); ++f) {
    Search& search = searches_[f];
    search.count = features[f].cuts.size();
    search.categorical = features[f].categorical;
    std::fill(std::copy(features[f].cuts.begin(), features[f].cuts.end(), search.cuts), search.cuts + 256, kInfinity);
    for (std::size_t k = 0; k < 16; ++k) search.pivots[k] = search.cuts[16 * k + 15];
  }
}

template <class T>
void Binner::bin_values(std::size_t k, const T* values, std::ptrdiff_t stride, std::size_t count,
                        std::uint8_t* out) const {
  const Search& search = searches_[k];
#if defined(__x86_64__)
  if (!search.categorical && has_avx2()) {
    const auto search_values = has_avx512() ? search_avx512<T> : search_avx2<T>;
    return search_values(search.pivots, search.cuts, search.count <= 16, values, stride, count, out);
  }
#endif
  for (std::size_t i = 0; i < count; ++i, values += stride) {
    const auto value = static_cast<float>(*values);
    const std::size_t place = search_portable(search.cuts, search.count, value);
    const bool known =
        !std::isnan(value) && !(search.categorical && (place == search.count || search.cuts[place] != value));
    out[i] = known ? static_cast<std::uint8_t>(place) : kMissingBin;
  }
}
template void Binner::bin_values(std::size_t, const float*, std::ptrdiff_t, std::size_t, std::uint8_t*) const;
template void Binner::bin_values(std::size_t, const double*, std::ptrdiff_t, std::size_t, std::uint8_t*) const;

}  // namespace podium
