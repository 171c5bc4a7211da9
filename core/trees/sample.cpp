#include "trees/sample.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>

#include "random.hpp"
#include "trees/fixed_point.hpp"

namespace podium {
namespace {

constexpr double kCurvatureShare = 0.1;  // λ, in units of (mean force / mean curvature)²
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
  double above = 0, below = 0;  // documents that are kept surely, sizes of the others
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

double total_of(std::span<const double> values, Team& team) {
  std::vector<double> largest((values.size() + kPiece - 1) / kPiece);
  const auto pieces = [&](auto&& body) {
    team.loop(largest.size(), 1, true, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) body(k, k * kPiece, std::min(values.size(), (k + 1) * kPiece));
    });
  };
  pieces([&](std::size_t k, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) largest[k] = std::max(largest[k], std::fabs(values[i]));
  });
  const double most = largest.empty() ? 0.0 : *std::max_element(largest.begin(), largest.end());
  const int exponent = sum_exponent(most, values.size());
  const double scale = std::ldexp(1.0, exponent);
  std::atomic<std::int64_t> total{0};
  pieces([&](std::size_t, std::size_t begin, std::size_t end) {
    std::int64_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += to_fixed(std::fabs(values[i]), scale);
    total += sum;
  });
  return std::ldexp(static_cast<double>(total.load()), -exponent);
}

// The probability of a document as a function of its number.
class Chance {
 public:
  Chance(std::span<const double> force, std::span<const double> curvature, const SampleSettings& settings, Team& team)
      : force_(force), curvature_(curvature), share_(settings.row_share), by_force_(settings.by_force) {
    if (!by_force_ || share_ >= 1) return;
    const double bend = total_of(curvature, team), push = total_of(force, team);
    lambda_ = bend > 0 ? kCurvatureShare * (push / bend) * (push / bend) : 0.0;
    std::vector<std::int64_t> counts(kBuckets);
    const std::size_t pieces = (force.size() + kPiece - 1) / kPiece;
    std::vector<std::vector<std::uint32_t>> own(std::min<std::size_t>(pieces, 16));
    team.loop(own.size(), 1, true, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        own[k].resize(kBuckets);
        const std::size_t first = force.size() * k / own.size(), last = force.size() * (k + 1) / own.size();
        for (std::size_t i = first; i < last; ++i) ++own[k][bucket_of(static_cast<float>(size(i)))];
      }
    });
    for (const auto& part : own) {
      for (std::size_t b = 0; b < kBuckets; ++b) counts[b] += part[b];
    }
    threshold_ = solve(counts, share_ * static_cast<double>(force.size()));
  }

  double operator()(std::size_t i) const {
    if (share_ >= 1) return 1;
    if (!by_force_) return share_;
    const double r = size(i);
    if (r >= threshold_) return r > 0 ? 1.0 : 0.0;
    return r > 1e-9 * threshold_ ? r / threshold_ : 0.0;  // a weight of a thousand million helps nobody
  }

 private:
  double size(std::size_t i) const {
    return std::sqrt(force_[i] * force_[i] + lambda_ * curvature_[i] * curvature_[i]);
  }

  std::span<const double> force_, curvature_;
  double share_, lambda_ = 0, threshold_ = 0;
  bool by_force_;
};

}  // namespace

Sample sample_rows(std::span<const double> force, std::span<const double> curvature, const SampleSettings& settings,
                   std::span<const std::uint64_t> keys, std::span<const std::uint64_t> query_keys,
                   std::span<const std::int64_t> query_offsets, std::uint64_t draw, Team& team) {
  const Chance chance(force, curvature, settings, team);
  const bool weighs = settings.row_share < 1 && settings.by_force;
  const std::size_t queries = query_keys.size();
  const std::size_t grain = std::max<std::size_t>(1, queries * kPiece / std::max<std::size_t>(force.size(), 1));
  const std::size_t pieces = (queries + grain - 1) / grain;
  std::vector<Sample> parts(pieces);
  const std::uint64_t row_draw = scatter(draw), query_draw = scatter(draw ^ 0x5851F42D4C957F2D);
  team.loop(pieces, 1, pieces > 2, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      for (std::size_t q = k * grain; q < std::min(queries, (k + 1) * grain); ++q) {
        if (settings.query_share < 1 && unit(scatter(query_keys[q] ^ query_draw)) >= settings.query_share) continue;
        for (auto i = static_cast<std::size_t>(query_offsets[q]); i < static_cast<std::size_t>(query_offsets[q + 1]);
             ++i) {
          const double p = chance(i);
          if (p < 1 && unit(scatter(keys[i] ^ row_draw)) >= p) continue;
          parts[k].rows.push_back(static_cast<std::uint32_t>(i));
          if (weighs) parts[k].weight.push_back(1 / p);
        }
      }
    }
  });
  Sample out;
  for (const Sample& part : parts) {
    out.rows.insert(out.rows.end(), part.rows.begin(), part.rows.end());
    out.weight.insert(out.weight.end(), part.weight.begin(), part.weight.end());
  }
  return out;
}

std::vector<std::uint32_t> sample_columns(std::span<const std::uint32_t> features, double share, std::uint64_t draw) {
  std::vector<std::uint32_t> order(features.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto wanted = static_cast<std::size_t>(std::ceil(share * static_cast<double>(features.size())));
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t x = scatter(draw ^ features[a]), y = scatter(draw ^ features[b]);
    return x != y ? x < y : a < b;
  });
  order.resize(std::min(features.size(), std::max<std::size_t>(wanted, 1)));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace podium
