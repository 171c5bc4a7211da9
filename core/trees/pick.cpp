#include "trees/pick.hpp"

#include <algorithm>

#include "dispatch.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace podium {
namespace {

constexpr std::size_t kChunk = 16, kWide = 32;
constexpr std::size_t kAhead = 16;  // rows that are prefetched

}  // namespace

BytePicker::BytePicker(std::span<const std::uint32_t> places, std::size_t stride)
    : places_(places.begin(), places.end()), stride_(stride) {
  if (stride < kChunk || !has_avx2()) return;
  for (std::size_t at = 0; at < stride; at += kChunk) chunks_.push_back(std::min(at, stride - kChunk));
  const std::size_t wide = (places.size() + kWide - 1) / kWide;
  shuffle_.assign(wide * chunks_.size() * kWide, 128);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const std::size_t chunk = places[k] / kChunk;
    shuffle_[(k / kWide * chunks_.size() + chunk) * kWide + k % kWide] =
        static_cast<std::uint8_t>(places[k] - chunks_[chunk]);
  }
}

void BytePicker::copy(const std::uint8_t* from, const std::uint32_t* documents, std::size_t begin, std::size_t end,
                      std::uint8_t* to, std::size_t to_stride) const {
#if defined(__x86_64__)
  if (!chunks_.empty()) {  // whole vectors are written, so that the last rows are left to the loop below
    const std::size_t wide = (places_.size() + kWide - 1) / kWide * kWide;
    const std::size_t last = (wide + to_stride - 1) / to_stride, stop = end - std::min(last, end - begin);
    copy_shuffled(from, documents, begin, stop, to, to_stride);
    begin = stop;
  }
#endif
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint8_t* row = from + (documents ? documents[i] : i) * stride_;
    for (std::size_t k = 0; k < places_.size(); ++k) to[i * to_stride + k] = row[places_[k]];
  }
}

#if defined(__x86_64__)
PODIUM_AVX2 void BytePicker::copy_shuffled(const std::uint8_t* from, const std::uint32_t* documents, std::size_t begin,
                                           std::size_t end, std::uint8_t* to, std::size_t to_stride) const {
  for (std::size_t i = begin; i < end; ++i) {
    if (documents && i + kAhead < end) __builtin_prefetch(from + documents[i + kAhead] * stride_);
    const std::uint8_t* row = from + (documents ? documents[i] : i) * stride_;
    const std::uint8_t* shuffle = shuffle_.data();
    for (std::size_t k = 0; k < places_.size(); k += kWide) {
      __m256i picked = _mm256_setzero_si256();
      for (const std::size_t at : chunks_) {
        const __m256i chunk = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + at)));
        const __m256i places = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(shuffle));
        picked = _mm256_or_si256(picked, _mm256_shuffle_epi8(chunk, places));
        shuffle += kWide;
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * to_stride + k), picked);
    }
  }
}
#endif

}  // namespace podium
