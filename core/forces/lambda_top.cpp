#include "forces/lambda_top.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <utility>

#include "dispatch.hpp"
#include "exponentials.hpp"
#include "forces/force.hpp"
#include "random.hpp"
#include "scratch.hpp"

namespace podium {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kRun = 16;         // documents that are copied at a time
constexpr std::size_t kFew = 24;         // documents of which all are ordered
constexpr std::size_t kAveraged = 2048;  // documents that are averaged at once: their pairs are kept in a matrix
constexpr double kFar = 600;             // a larger range of scores overflows exponentials
typedef double Four __attribute__((vector_size(32)));
typedef std::int64_t Mask __attribute__((vector_size(32)));

// The least and the largest of some numbers, in vectors that every machine has.
std::pair<double, double> bounds_of(std::span<const double> values) {
  typedef double Two __attribute__((vector_size(16)));
  Two least[2], most[2];
  for (std::size_t k = 0; k < 2; ++k) least[k] = most[k] = Two{values[0], values[0]};
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    for (std::size_t k = 0; k < 2; ++k) {
      Two next;
      std::memcpy(&next, values.data() + i + 2 * k, sizeof next);
      least[k] = next < least[k] ? next : least[k], most[k] = next > most[k] ? next : most[k];
    }
  }
  std::pair<double, double> out{values[0], values[0]};
  const auto take = [&](double low, double high) { out = {std::min(out.first, low), std::max(out.second, high)}; };
  for (std::size_t k = 0; k < 2; ++k) take(least[k][0], most[k][0]), take(least[k][1], most[k][1]);
  for (; i < values.size(); ++i) take(values[i], values[i]);
  return out;
}

PODIUM_INLINE void noise_row(const double* scores, std::size_t n, double scale, std::uint64_t key, double* out) {
  constexpr std::uint64_t kShift = std::bit_cast<std::uint64_t>(0x1p52);  // with a whole number in its low bits
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = splitmix64(key ^ i);
    const std::uint64_t sum = (bits & 0xFFFF) + (bits >> 16 & 0xFFFF) + (bits >> 32 & 0xFFFF) + (bits >> 48);
    out[i] = scores[i] + scale * (std::bit_cast<double>(kShift | sum) - (0x1p52 + 2 * 65535));
  }
}
void noise_portable(const double* scores, std::size_t n, double scale, std::uint64_t key, double* out) {
  noise_row(scores, n, scale, key, out);
}
PODIUM_AVX2 void noise_avx2(const double* scores, std::size_t n, double scale, std::uint64_t key, double* out) {
  noise_row(scores, n, scale, key, out);
}
PODIUM_AVX512 void noise_avx512(const double* scores, std::size_t n, double scale, std::uint64_t key, double* out) {
  noise_row(scores, n, scale, key, out);
}

// The query by position; the first `rows` documents pull and are pulled by all below them.
struct Pairs {
  const double* exponential;
  const double* gain;
  const double* weight;  // of positions, 0 from `counted` on
  double* force;
  double* curvature;
  std::size_t n, rows, counted;
};

// The sums of one of the first documents over its pairs, in lanes by position.
struct Lanes {
  Four force, curvature, total;
};

PODIUM_INLINE Four load(const double* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
PODIUM_INLINE Four size_of(Four value) {
  return (Four)((Mask)value & INT64_MAX);
}

// Four positions from `at` on, which the first documents are paired with.
struct Block {
  Four exponential, gain, force, curvature;

  PODIUM_INLINE Block(std::size_t at, const Pairs& pairs)
      : exponential(load(pairs.exponential + at)),
        gain(load(pairs.gain + at)),
        force{0, 0, 0, 0},
        curvature{0, 0, 0, 0} {}

  // The pairs with position p, of which size(gap of gains) gives |ΔZ|.
  template <bool kTotal, class Size>
  PODIUM_INLINE void add(std::size_t p, const Pairs& pairs, Lanes& lanes, const Size& size_of_gap) {
    const Four one = {1, 1, 1, 1}, zero = {0, 0, 0, 0};
    const Four share = exponential / (pairs.exponential[p] + exponential), rest = one - share;
    const Four gap = pairs.gain[p] - gain, size = size_of_gap(size_of(gap));
    const Mask above = gap > zero;
    const Four part = size * (above ? share : rest), pull = above ? part : -part, bend = size * share * rest;
    force -= pull, curvature += bend;
    lanes.force += pull, lanes.curvature += bend;
    if constexpr (kTotal) lanes.total += part;
  }

  PODIUM_INLINE void store(std::size_t at, const Pairs& pairs) const {
    std::memcpy(pairs.force + at, &force, sizeof force);
    std::memcpy(pairs.curvature + at, &curvature, sizeof curvature);
  }
};

// A block at the edges: positions have weights, and pairs are left out that do not exist or belong to another row.
template <bool kTotal>
PODIUM_INLINE void add_edge(std::size_t at, const Pairs& pairs, Lanes* lanes) {
  const auto first = static_cast<double>(at), n = static_cast<double>(pairs.n);
  const Four zero = {0, 0, 0, 0}, place = {first, first + 1, first + 2, first + 3};
  const Four weight = at < pairs.counted ? load(pairs.weight + at) : zero;
  Block block(at, pairs);
  const std::size_t rows = std::min(pairs.rows, at + kLanes - 1);
  for (std::size_t p = 0; p < rows; ++p) {
    block.add<kTotal>(p, pairs, lanes[p], [&](Four gap) __attribute__((always_inline)) {
      const Four size = gap * size_of(weight - pairs.weight[p]);
      return (place > static_cast<double>(p)) & (place < n) ? size : zero;
    });
  }
  block.store(at, pairs);
}

// Two blocks behind the positions that have weights: their divisions overlap.
template <bool kTotal>
PODIUM_INLINE void add_two(std::size_t at, const Pairs& pairs, Lanes* lanes) {
  Block first(at, pairs), second(at + kLanes, pairs);
  for (std::size_t p = 0; p < pairs.rows; ++p) {
    const auto size = [w = pairs.weight[p]](Four gap) __attribute__((always_inline)) { return gap * w; };
    Lanes sums = lanes[p];
    first.add<kTotal>(p, pairs, sums, size);
    second.add<kTotal>(p, pairs, sums, size);
    lanes[p] = sums;
  }
  first.store(at, pairs), second.store(at + kLanes, pairs);
}

// Returns Σ |force| over all pairs if kTotal. Each sum is added in the order of the general way: the lane of a pair of
// the positions p < q is (q − p − 1) mod 4, and lanes are added as a tree.
template <bool kTotal>
PODIUM_INLINE double add_all(const Pairs& pairs) {
  Lanes lanes[deepest_top];
  for (std::size_t p = 0; p < pairs.rows; ++p) lanes[p] = Lanes{};
  const std::size_t edge = std::min(pairs.n, (std::max(pairs.rows, pairs.counted) + kLanes - 1) / kLanes * kLanes);
  std::size_t at = 0;
  for (; at < edge; at += kLanes) add_edge<kTotal>(at, pairs, lanes);
  for (; at + 2 * kLanes <= pairs.n; at += 2 * kLanes) add_two<kTotal>(at, pairs, lanes);
  for (; at < pairs.n; at += kLanes) add_edge<kTotal>(at, pairs, lanes);
  double total = 0;
  for (std::size_t p = 0; p < pairs.rows; ++p) {
    const auto sum = [&](const Four& of) {
      return (of[(p + 1) % 4] + of[(p + 2) % 4]) + (of[(p + 3) % 4] + of[p % 4]);
    };
    total += sum(lanes[p].total);
    pairs.force[p] += sum(lanes[p].force);
    pairs.curvature[p] += sum(lanes[p].curvature);
  }
  return total;
}

PODIUM_AVX2 double add_all_avx2(const Pairs& pairs, bool total) {
  return total ? add_all<true>(pairs) : add_all<false>(pairs);
}

// sums[i] += share · (values[i] · scale · normalized)
PODIUM_AVX2 void add_scaled(const double* values, std::size_t n, double scale, double normalized, double share,
                            double* sums) {
  for (std::size_t i = 0; i < n; ++i) sums[i] += share * (values[i] * scale * normalized);
}

// Two arrays of the same length.
struct TwoArrays {
  double *first, *second;

  TwoArrays operator+(std::size_t count) const { return {first + count, second + count}; }
};

// Copies in steps that are longer than most runs, because the ends of short loops are predicted badly. What is written
// past the end is overwritten by the next run.
PODIUM_INLINE void copy_run(const TwoArrays& from, std::size_t count, const TwoArrays& to) {
  for (std::size_t i = 0; i < count; i += kRun) {
    std::memcpy(to.first + i, from.first + i, kRun * sizeof(double));
    std::memcpy(to.second + i, from.second + i, kRun * sizeof(double));
  }
}

// Copies all documents but those in `rising`, without gaps.
PODIUM_AVX2 void close_gaps(std::span<const std::uint32_t> rising, std::size_t n, TwoArrays from, TwoArrays to) {
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= rising.size(); ++k) {
    const std::size_t end = k < rising.size() ? rising[k] : n;
    copy_run(from + begin, end - begin, to);
    to = to + (end - begin), begin = end + 1;
  }
}

// The reverse: leaves gaps for the documents in `rising`.
PODIUM_AVX2 void open_gaps(std::span<const std::uint32_t> rising, std::size_t n, TwoArrays from, TwoArrays to) {
  std::size_t begin = 0;
  for (std::size_t k = 0; k <= rising.size(); ++k) {
    const std::size_t end = k < rising.size() ? rising[k] : n;
    copy_run(from, end - begin, to + begin);
    from = from + (end - begin), begin = end + 1;
  }
}

// Sorts a few different numbers without branches that depend on them.
PODIUM_AVX2 void sort_few(const std::uint32_t* numbers, std::size_t count, std::uint32_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t before = 0;
    for (std::size_t j = 0; j < count; ++j) before += numbers[j] < numbers[i];
    out[before] = numbers[i];
  }
}

}  // namespace

void add_noise(std::span<const double> scores, double noise, std::uint64_t key, double* out) {
  const double scale = noise * std::numbers::pi / 65536;
  (has_avx512() ? noise_avx512
   : has_avx2() ? noise_avx2
                : noise_portable)(scores.data(), scores.size(), scale, key, out);
}

TopLambdas::TopLambdas(const Force& force, const ForceQuery& query, ForceScratch& scratch)
    : force_(force), query_(query), all_(scratch), scratch_(scratch.top), n_(query.scores.size()) {
  const ForceSpec& spec = force.spec();
  averages_ = spec.noise > 0 && spec.draws > 1 && !spec.normalize;
  if ((!averages_ && !has_avx2()) || !is_additive(force.metric().spec()) || spec.neighbors || spec.damping ||
      query.has_pairs || !query.weights.empty()) {
    return;
  }
  first_ = averages_ ? force.metric().depth(n_) : std::max(force.metric().depth(n_), std::min(n_, spec.truncation));
  if (first_ == 0 || first_ > deepest_top) return;
  if (!averages_ && first_ * 4 > n_) first_ = n_;  // all are ordered
  fits_ = prepare();
}

bool TopLambdas::prepare() {
  const ForceSpec& spec = force_.spec();
  const auto [least, most] = bounds_of(query_.scores);
  const double range = most - least, middle = least + range / 2;
  if (!(spec.sigma * range < kFar)) return false;
  const std::span<const double> weights = find_facts();
  if (!facts_->plain) return false;
  zero_ = facts_->zero;
  if (zero_) return true;
  rows_ = counted_ = weights.size();
  if (spec.truncation > 0) rows_ = std::min(rows_, spec.truncation);
  TopScratch& s = scratch_;
  reserve(s.exponential, n_ + kRun), reserve(s.noisy, n_ + order_room);
  for (std::size_t i = 0; i < n_; ++i) s.exponential[i] = spec.sigma * (query_.scores[i] - middle);
  exponentials({s.exponential.data(), n_});
  for (std::size_t level = 0; level < facts_->levels; ++level) {
    s.level_gain[level] = force_.metric().level_gain(level, facts_->levels - 1);
  }
  stream_ = random_stream(query_.seed, query_.round, query_.key);
  averages_ ? void(weights_ = weights) : prepare_positions(weights);
  return true;
}

// Prepares what is needed if the draws are not averaged but taken one at a time.
void TopLambdas::prepare_positions(std::span<const double> weights) {
  TopScratch& s = scratch_;
  for (auto* part : {&s.gain, &s.ranked_exponential, &s.ranked_gain, &s.weight, &s.force, &s.curvature, &s.moved_force,
                     &s.moved_curvature}) {
    reserve(*part, n_ + kRun);
  }
  for (std::size_t i = 0; i < n_; ++i) s.gain[i] = s.level_gain[static_cast<std::size_t>(query_.labels[i])];
  std::fill_n(s.weight.begin(), counted_ + kLanes, 0.0);
  for (std::size_t p = 0; p < counted_; ++p) s.weight[p] = weights[p] / facts_->norm;
}

// Facts about the labels, which may be known already. Returns the weights of positions.
std::span<const double> TopLambdas::find_facts() {
  if (query_.facts) {
    facts_ = query_.facts, by_level_ = {query_.by_level, n_};
    return force_.metric().weights().first(facts_->counted);
  }
  TopScratch& s = scratch_;
  reserve(s.by_level, n_);
  facts_ = &s.facts, by_level_ = {s.by_level.data(), n_};
  return describe_labels(force_.metric(), query_.labels, s.labels, s.facts, s.by_level.data());
}

std::span<const double> TopLambdas::scores_of(std::size_t draw) {
  if (force_.spec().noise == 0) return query_.scores;
  add_noise(query_.scores, force_.spec().noise, splitmix64(stream_ ^ draw), scratch_.noisy.data());
  return {scratch_.noisy.data(), n_};
}

// The first documents in the order of these scores, behind which there is room; of equal ones, in their own order.
void TopLambdas::order_first(std::span<const double> scores, std::uint32_t* order) {
  if (n_ <= kFew) return order_by_counting(scores.data(), n_, order);
  if (order_top(scores, counted_, scratch_.counting, order)) return;
  std::vector<std::uint32_t>& all = scratch_.order;
  all.resize(n_);
  std::iota(all.begin(), all.end(), 0u);
  std::stable_sort(all.begin(), all.end(), [&](std::uint32_t a, std::uint32_t b) { return scores[a] > scores[b]; });
  std::copy_n(all.begin(), counted_, order);
}

bool TopLambdas::order(std::size_t draw) {
  const std::span<const double> scores = scores_of(draw);
  if (first_ == n_) {
    order_by_counting(scores, scratch_.counting, scratch_.order);
    return true;
  }
  return order_top(scores, first_, scratch_.counting, scratch_.order);
}

void TopLambdas::gather() {
  TopScratch& s = scratch_;
  for (std::size_t p = 0; p < first_; ++p) {
    s.ranked_exponential[p] = s.exponential[s.order[p]], s.ranked_gain[p] = s.gain[s.order[p]];
  }
  if (first_ == n_) return;
  s.rising.resize(first_);
  sort_few(s.order.data(), first_, s.rising.data());
  close_gaps(s.rising, n_, {s.exponential.data(), s.gain.data()},
             TwoArrays{s.ranked_exponential.data(), s.ranked_gain.data()} + first_);
}

void TopLambdas::scatter() {
  TopScratch& s = scratch_;
  const TwoArrays from{s.force.data(), s.curvature.data()}, to{s.moved_force.data(), s.moved_curvature.data()};
  if (first_ < n_) open_gaps(s.rising, n_, from + first_, to);
  for (std::size_t p = 0; p < first_; ++p) {
    to.first[s.order[p]] = from.first[p], to.second[s.order[p]] = from.second[p];
  }
}

bool TopLambdas::add(std::size_t draw, double share, const ForceSums& sums) {
  if (zero_) return true;
  if (!order(draw)) return false;
  gather();
  const ForceSpec& spec = force_.spec();
  TopScratch& s = scratch_;
  const Pairs pairs{s.ranked_exponential.data(),
                    s.ranked_gain.data(),
                    s.weight.data(),
                    s.force.data(),
                    s.curvature.data(),
                    n_,
                    rows_,
                    counted_};
  const double sum = 2 * (add_all_avx2(pairs, spec.normalize) * spec.sigma);
  const double normalized = spec.normalize && sum > 0 ? std::log2(1 + sum) / sum : 1.0;
  scatter();
  add_scaled(s.moved_force.data(), n_, spec.sigma, normalized, share, sums.force);
  if (sums.curvature) {
    add_scaled(s.moved_curvature.data(), n_, spec.sigma * spec.sigma, normalized, share, sums.curvature);
  }
  return true;
}

void TopLambdas::add_average(const ForceSums& sums) {
  if (zero_) return;
  const std::size_t draws = force_.spec().draws, at_once = std::max<std::size_t>(1, kAveraged / counted_);
  for (std::size_t first = 0; first < draws; first += at_once) {
    add_average(first, std::min(draws, first + at_once), sums);
  }
}

void TopLambdas::add_average(std::size_t first, std::size_t last, const ForceSums& sums) {
  const ForceSpec& spec = force_.spec();
  TopScratch& s = scratch_;
  const std::size_t drawn = (last - first) * counted_;
  reserve(s.drawn, drawn + order_room);
  for (std::size_t draw = first; draw < last; ++draw) {
    order_first(scores_of(draw), s.drawn.data() + (draw - first) * counted_);
  }
  const double scale = spec.sigma / (static_cast<double>(spec.draws) * facts_->norm);
  add_averaged({{s.exponential.data(), n_},
                by_level_,
                std::span(facts_->counts).first(facts_->levels),
                std::span<const double>(s.level_gain).first(facts_->levels),
                weights_,
                rows_,
                {s.drawn.data(), drawn}},
               s.average, scale, spec.sigma * scale, sums.force, sums.curvature);
}

}  // namespace podium
