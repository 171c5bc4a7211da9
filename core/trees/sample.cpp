#include "trees/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "random.hpp"

namespace podium {
namespace {

constexpr double kCurvatureShare = 0.1;  // λ, in units of (largest force / largest curvature)²
constexpr std::size_t kPiece = 16384;
constexpr std::size_t kBuckets = 1 << 13;  // of a float's size: exponent and five more bits

std::size_t bucket_of(float size) {
  return std::bit_cast<std::uint32_t>(size) >> 18;
}
double middle_of(std::size_t bucket) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bucket << 18 | 1u << 17));
}

double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

// μ with Σ min(1, r/μ) = wanted, r taken as the middle of its bucket.
double solve(const std::vector<std::int64_t>& counts, double wanted) {
  double above = 0, below = 0;  // number of documents kept with certainty, and sum of the sizes of the others
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (counts[b] > 0) below += static_cast<double>(counts[b]) * middle_of(b);
  }
  for (std::size_t b = kBuckets; b-- > 0;) {
    if (counts[b] == 0) continue;
    const double left = wanted - above;
    if (left > 0 && below / left >= middle_of(b)) return below / left;
    above += static_cast<double>(counts[b]);
    below -= static_cast<double>(counts[b]) * middle_of(b);
  }
  return 0;  // all of them
}

// r of every document, and the μ of its probability min(1, r/μ).
double size_up(std::span<const double> force, std::span<const double> curvature, const Extent& largest, double share,
               std::vector<float>& size, Exchange* exchange, std::size_t documents, int num_threads) {
  const double ratio = largest.curvature > 0 ? largest.force / largest.curvature : 0.0;
  const double lambda = kCurvatureShare * ratio * ratio;
  const double scale = largest.force > 0 ? std::ldexp(1.0, -std::ilogb(largest.force)) : 1.0;  // no float is too small
  const std::size_t n = force.size(), parts = std::clamp<std::size_t>(n / kPiece, 1, 16);
  std::vector<std::vector<std::uint32_t>> own(parts);
  size.resize(n);
  parallel_for(parts, parts > 1 ? num_threads : 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t first = n * k / parts, last = n * (k + 1) / parts;
      for (std::size_t i = first; i < last; ++i) {
        size[i] = static_cast<float>(scale * std::sqrt(force[i] * force[i] + lambda * curvature[i] * curvature[i]));
      }
      own[k].resize(kBuckets);
      for (std::size_t i = first; i < last; ++i) ++own[k][bucket_of(size[i])];
    }
  });
  std::vector<std::int64_t> counts(kBuckets);
  for (const auto& part : own) {
    for (std::size_t b = 0; b < kBuckets; ++b) counts[b] += part[b];
  }
  sum_over_workers(exchange, counts);
  return solve(counts, share * static_cast<double>(documents));
}

}  // namespace

void sample_rows(std::span<const double> force, std::span<const double> curvature, const Extent& largest,
                 const SampleSettings& settings, std::span<const std::uint64_t> keys,
                 std::span<const std::uint64_t> query_keys, std::span<const std::int64_t> query_offsets,
                 std::uint64_t draw, Sample& out, Exchange* exchange, std::size_t documents, int num_threads) {
  const bool weighs = settings.row_sampling < 1 && settings.sampling == Sampling::force;
  const double threshold =
      weighs ? size_up(force, curvature, largest, settings.row_sampling, out.size, exchange, documents, num_threads)
             : 0.0;
  const auto chance = [&](std::size_t i) {
    if (!weighs) return settings.row_sampling;
    const double r = out.size[i];
    if (r >= threshold) return r > 0 ? 1.0 : 0.0;
    return r > 1e-9 * threshold ? r / threshold : 0.0;  // a larger weight than a billion would be useless
  };
  const std::size_t queries = query_keys.size();
  const std::size_t grain = std::max<std::size_t>(1, queries * kPiece / std::max<std::size_t>(force.size(), 1));
  const std::size_t pieces = (queries + grain - 1) / grain;
  const std::uint64_t row_draw = splitmix64(draw), query_draw = splitmix64(draw ^ 0x5851F42D4C957F2D);
  out.rows.resize(force.size()), out.weight.resize(weighs ? force.size() : 0);
  std::vector<std::size_t> kept(pieces);
  const auto begin_of = [&](std::size_t k) {
    return static_cast<std::size_t>(query_offsets[std::min(queries, k * grain)]);
  };
  // Each piece writes into its own part; then the gaps are closed.
  parallel_for(pieces, pieces > 2 ? num_threads : 1, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      std::size_t at = begin_of(k);
      for (std::size_t q = k * grain; q < std::min(queries, (k + 1) * grain); ++q) {
        if (settings.query_sampling < 1 && unit(splitmix64(query_keys[q] ^ query_draw)) >= settings.query_sampling)
          continue;
        const auto first = static_cast<std::size_t>(query_offsets[q]);
        const auto last = static_cast<std::size_t>(query_offsets[q + 1]);
        if (settings.row_sampling >= 1) {  // whole queries: their documents need no draws
          std::iota(out.rows.begin() + static_cast<std::ptrdiff_t>(at),
                    out.rows.begin() + static_cast<std::ptrdiff_t>(at + last - first),
                    static_cast<std::uint32_t>(first));
          at += last - first;
          continue;
        }
        for (std::size_t i = first; i < last; ++i) {
          const double p = chance(i);
          out.rows[at] = static_cast<std::uint32_t>(i);
          if (weighs) out.weight[at] = p;
          at += unit(splitmix64(keys[i] ^ row_draw)) < p;
        }
      }
      kept[k] = at - begin_of(k);
      if (weighs) {
        for (std::size_t i = begin_of(k); i < at; ++i) out.weight[i] = 1 / out.weight[i];
      }
    }
  });
  std::size_t at = 0;
  for (std::size_t k = 0; k < pieces; ++k) {
    const auto from = static_cast<std::ptrdiff_t>(begin_of(k)), count = static_cast<std::ptrdiff_t>(kept[k]);
    std::copy_n(out.rows.begin() + from, count, out.rows.begin() + static_cast<std::ptrdiff_t>(at));
    if (weighs) std::copy_n(out.weight.begin() + from, count, out.weight.begin() + static_cast<std::ptrdiff_t>(at));
    at += kept[k];
  }
  out.count = at;
}

std::vector<std::uint32_t> sample_columns(std::span<const std::uint32_t> features, double share, std::uint64_t draw) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> drawn;
  drawn.reserve(features.size());
  for (std::uint32_t j = 0; j < features.size(); ++j) drawn.emplace_back(splitmix64(draw ^ features[j]), j);
  const auto share_of_all = static_cast<std::size_t>(std::ceil(share * static_cast<double>(features.size())));
  const std::size_t wanted = std::min(features.size(), std::max<std::size_t>(share_of_all, 1));
  std::nth_element(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(wanted), drawn.end());
  std::vector<std::uint32_t> kept;
  for (std::size_t k = 0; k < wanted; ++k) kept.push_back(drawn[k].second);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace podium
