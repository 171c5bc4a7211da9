#include "forces/lambda_draws.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "dispatch.hpp"
#include "metrics/order.hpp"
#include "scratch.hpp"

namespace podium {
namespace {

constexpr std::size_t kBlock = 8;  // documents per step, in as many vectors as the machine needs
constexpr std::size_t kLevels = 32;
constexpr std::size_t kFewOrders = 8;

// Vectors as wide as the machine's: the compiler splits wider ones into single numbers.
template <std::size_t kWidth>
struct Vector {
  using Doubles [[gnu::vector_size(kWidth * sizeof(double))]] = double;
  using Ints [[gnu::vector_size(kWidth * sizeof(std::int64_t))]] = std::int64_t;
};

template <std::size_t kWidth>
using Doubles = typename Vector<kWidth>::Doubles;

template <std::size_t kWidth>
PODIUM_INLINE Doubles<kWidth> load(const double* from) {
  Doubles<kWidth> out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
template <std::size_t kWidth>
PODIUM_INLINE void store(const Doubles<kWidth>& value, double* to) {
  std::memcpy(to, &value, sizeof value);
}
template <std::size_t kWidth>
PODIUM_INLINE Doubles<kWidth> size_of(const Doubles<kWidth>& value) {
  return (Doubles<kWidth>)((typename Vector<kWidth>::Ints)value & INT64_MAX);
}

constexpr std::size_t padded(std::size_t count) {
  return (count + kBlock - 1) / kBlock * kBlock;
}

// Members as arrays, padded to whole blocks. The sums of a member over the others are kept by lane: force and curvature
// of lane l at lanes[2 · kBlock · member + l] and kBlock later.
struct Members {
  const double* exponential;
  const double* gain;
  double* force;
  double* curvature;
  double* lanes;
  std::size_t count;
};

// The others of one level: each of the members [first, last) gains or loses all pairs with them.
struct Others {
  const double* exponential;
  double* force;
  double* curvature;
  std::size_t count;
};

// `present` is 0 in the lanes that fill up the last block, and 1 in the others.
template <std::size_t kWidth, bool kWins>
PODIUM_INLINE void add_block(const Members& members, std::size_t first, std::size_t last, const double* strength,
                             const Doubles<kWidth>& exponential, const Doubles<kWidth>& present, std::size_t lane,
                             Doubles<kWidth>& force, Doubles<kWidth>& curvature) {
  const Doubles<kWidth> one = Doubles<kWidth>{} + 1.0;
  for (std::size_t a = first; a < last; ++a) {
    double* const lanes = members.lanes + 2 * kBlock * a + lane;
    const Doubles<kWidth> other = exponential / (members.exponential[a] + exponential), own = one - other;
    const Doubles<kWidth> pull = strength[a] * (kWins ? other : own) * present, bend = pull * (kWins ? own : other);
    force = kWins ? force - pull : force + pull;
    curvature += bend;
    store<kWidth>(kWins ? load<kWidth>(lanes) + pull : load<kWidth>(lanes) - pull, lanes);
    store<kWidth>(load<kWidth>(lanes + kBlock) + bend, lanes + kBlock);
  }
}

// The pairs of the others of one level: the first `losers` members have smaller gains, those from `winners` on larger
// ones. `strength` is the size of the gap of gains times the total weight of each member.
template <std::size_t kWidth>
PODIUM_INLINE void add_others(const Members& members, std::size_t losers, std::size_t winners, const double* strength,
                              const Others& others) {
  for (std::size_t at = 0; at < others.count; at += kBlock) {
    for (std::size_t lane = 0; lane < kBlock; lane += kWidth) {
      const std::size_t k = at + lane;
      const auto exponential = load<kWidth>(others.exponential + k);
      Doubles<kWidth> force = {}, curvature = {}, present = {};
      for (std::size_t l = 0; l < kWidth; ++l) present[l] = k + l < others.count ? 1.0 : 0.0;
      add_block<kWidth, false>(members, 0, losers, strength, exponential, present, lane, force, curvature);
      add_block<kWidth, true>(members, winners, members.count, strength, exponential, present, lane, force, curvature);
      store<kWidth>(force, others.force + k);
      store<kWidth>(curvature, others.curvature + k);
    }
  }
}

// Σ over orders of |ΔZ| of two members per gap of gains: with few orders Σ |weight_a − weight_b|, where `weights` are
// those of the members' positions [orders × pitch]; otherwise total_a + total_b − shared_ab. Both are exact.
struct Totals {
  const double* total;
  const double* shared;  // [members × pitch], or null
  const double* weights;
  std::size_t orders, pitch;
  const std::uint32_t* below;  // of each member, the number of members of lower levels
};

template <std::size_t kWidth, bool kFew>
PODIUM_INLINE Doubles<kWidth> apart(const Totals& totals, const Doubles<kWidth>& total, std::size_t a, std::size_t b) {
  if constexpr (!kFew) return (totals.total[a] + total) - load<kWidth>(totals.shared + a * totals.pitch + b);
  Doubles<kWidth> sum = {};
  for (std::size_t order = 0; order < totals.orders; ++order) {
    const double* const weights = totals.weights + order * totals.pitch;
    sum += size_of<kWidth>(load<kWidth>(weights + b) - weights[a]);
  }
  return sum;
}

// The pairs of two members, a before b: members of the same level have the same gain, and pairs of them no weight.
template <std::size_t kWidth, bool kFew>
PODIUM_INLINE void add_members(const Members& members, const Totals& totals) {
  using Vec = Doubles<kWidth>;
  const Vec one = Vec{} + 1.0, zero = {};
  for (std::size_t b = 0; b < members.count; b += kWidth) {
    const Vec exponential = load<kWidth>(members.exponential + b), gain = load<kWidth>(members.gain + b);
    const Vec total = load<kWidth>(totals.total + b);
    Vec place = {}, force = {}, curvature = {};
    for (std::size_t l = 0; l < kWidth; ++l) place[l] = b + l < members.count ? static_cast<double>(b + l) : -1.0;
    const std::size_t last = totals.below[std::min(members.count, b + kWidth) - 1], lane = b % kBlock;
    for (std::size_t a = 0; a < last; ++a) {
      double* const lanes = members.lanes + 2 * kBlock * a + lane;
      const Vec other = exponential / (members.exponential[a] + exponential), own = one - other;
      Vec size = apart<kWidth, kFew>(totals, total, a, b) * (gain - members.gain[a]);
      size = place > static_cast<double>(a) ? size : zero;
      const Vec pull = size * own, bend = pull * other;
      force += pull, curvature += bend;
      store<kWidth>(load<kWidth>(lanes) - pull, lanes);
      store<kWidth>(load<kWidth>(lanes + kBlock) + bend, lanes + kBlock);
    }
    store<kWidth>(force, members.force + b);
    store<kWidth>(curvature, members.curvature + b);
  }
}

// Adds the sums of each member over its lanes, which are 0 afterwards: they are for every query.
void take_lanes_portable(const Members& members) {
  const auto sum_of = [](const double* lanes) {
    return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  };
  for (std::size_t a = 0; a < members.count; ++a) {
    double* const lanes = members.lanes + 2 * kBlock * a;
    members.force[a] += sum_of(lanes), members.curvature[a] += sum_of(lanes + kBlock);
    std::fill_n(lanes, 2 * kBlock, 0.0);
  }
}

#if defined(__x86_64__)
using Eight = Doubles<kBlock>;
using Places = Vector<kBlock>::Ints;

PODIUM_INLINE Eight take(double* lanes) {
  const Eight out = load<kBlock>(lanes);
  store<kBlock>(Eight{}, lanes);
  return out;
}

// Adds the even pairs of numbers of two vectors to the odd ones.
PODIUM_INLINE Eight add_neighbors(const Eight& a, const Eight& b) {
  return __builtin_shuffle(a, b, Places{0, 1, 4, 5, 8, 9, 12, 13}) +
         __builtin_shuffle(a, b, Places{2, 3, 6, 7, 10, 11, 14, 15});
}

// The same sums for eight members at a time: first of neighboring lanes, with two members in a vector.
PODIUM_AVX512 void take_lanes_avx512(const Members& members) {
  constexpr std::size_t kPitch = 2 * kBlock;
  for (std::size_t first = 0; first < members.count; first += kBlock) {
    for (const bool is_force : {true, false}) {
      double* const lanes = members.lanes + kPitch * first + (is_force ? 0 : kBlock);
      Eight two[4];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        const Eight a = take(lanes + 2 * k * kPitch), b = take(lanes + (2 * k + 1) * kPitch);
        two[k] = __builtin_shuffle(a, b, Places{0, 8, 2, 10, 4, 12, 6, 14}) +
                 __builtin_shuffle(a, b, Places{1, 9, 3, 11, 5, 13, 7, 15});
      }
      const Eight sum = add_neighbors(add_neighbors(two[0], two[1]), add_neighbors(two[2], two[3]));
      double* const to = (is_force ? members.force : members.curvature) + first;
      store<kBlock>(load<kBlock>(to) + sum, to);
    }
  }
}
#endif

struct Kernels {
  void (*others)(const Members&, std::size_t, std::size_t, const double*, const Others&);
  void (*members)(const Members&, const Totals&);
  void (*take_lanes)(const Members&);
};

#define PODIUM_DRAWS(name, target, width)                                                                            \
  target void others_##name(const Members& members, std::size_t losers, std::size_t winners, const double* strength, \
                            const Others& others) {                                                                  \
    add_others<width>(members, losers, winners, strength, others);                                                   \
  }                                                                                                                  \
  target void members_##name(const Members& members, const Totals& totals) {                                         \
    totals.shared ? add_members<width, false>(members, totals) : add_members<width, true>(members, totals);          \
  }
PODIUM_DRAWS(portable, , 2)
#if defined(__x86_64__)
PODIUM_DRAWS(avx2, PODIUM_AVX2, 4)
PODIUM_DRAWS(avx512, PODIUM_AVX512, 8)
Kernels kernels() {
  if (has_avx512()) return {others_avx512, members_avx512, take_lanes_avx512};
  return has_avx2() ? Kernels{others_avx2, members_avx2, take_lanes_portable}
                    : Kernels{others_portable, members_portable, take_lanes_portable};
}
#else
Kernels kernels() {
  return {others_portable, members_portable, take_lanes_portable};
}
#endif
#undef PODIUM_DRAWS

// The average of one query.
class Averaging {
 public:
  Averaging(const AveragedQuery& query, AverageScratch& scratch)
      : query_(query),
        scratch_(scratch),
        levels_(query.counts.size()),
        few_(query.orders() <= kFewOrders && query.rows >= query.weight.size()) {
    place_documents();
    weigh_members();
  }

  void run() {
    AverageScratch& s = scratch_;
    const Kernels run = kernels();
    const Members members{s.exponential.data(), s.gain.data(),  s.force.data(),
                          s.curvature.data(),   s.lanes.data(), members_};
    run.members(members, {s.total.data(), few_ ? nullptr : s.shared.data(), s.weights.data(), query_.orders(), pitch_,
                          s.below.data()});
    for (std::size_t level = 0; level < levels_; ++level) {
      if (others_[level] == 0) continue;
      const double gain = query_.gain[level];
      std::size_t losers = first_[level], winners = first_[level + 1];
      while (losers > 0 && s.gain[losers - 1] == gain) --losers;
      while (winners < members_ && s.gain[winners] == gain) ++winners;
      for (std::size_t a = 0; a < losers; ++a) s.strength[a] = (gain - s.gain[a]) * s.total[a];
      for (std::size_t a = winners; a < members_; ++a) s.strength[a] = (s.gain[a] - gain) * s.total[a];
      run.others(members, losers, winners, s.strength.data(),
                 {s.exponential.data() + begin_[level], s.force.data() + begin_[level],
                  s.curvature.data() + begin_[level], others_[level]});
    }
    run.take_lanes(members);
  }

  void collect(double scale, double curvature_scale, double* force, double* curvature) const {
    const AverageScratch& s = scratch_;
    for (std::size_t a = 0; a < members_; ++a) {
      force[s.member[a]] += scale * s.force[a];
      if (curvature) curvature[s.member[a]] += curvature_scale * s.curvature[a];
    }
    const std::uint32_t* other = s.other.data();
    for (std::size_t level = 0; level < levels_; ++level) {
      const std::size_t end = begin_[level] + others_[level];
      for (std::size_t place = begin_[level]; place < end; ++place, ++other) {
        force[*other] += scale * s.force[place];
        if (curvature) curvature[*other] += curvature_scale * s.curvature[place];
      }
    }
  }

 private:
  // Each document is written to both lists and counted in one, so that there is no branch that depends on a document.
  void place_documents() {
    AverageScratch& s = scratch_;
    const std::size_t n = query_.documents();
    reserve(s.is_other, n), reserve(s.member, n + 1), reserve(s.other, n + 1), reserve(s.below, n);
    std::fill_n(s.is_other.begin(), n, std::uint8_t{1});
    for (const std::uint32_t i : query_.drawn) s.is_other[i] = 0;
    std::size_t others = 0, begin = 0;
    for (std::size_t level = 0; level < levels_; ++level) {
      first_[level] = members_;
      const std::size_t before = others, end = begin + query_.counts[level];
      for (std::size_t k = begin; k < end; ++k) {
        const std::uint32_t i = query_.by_level[k], other = s.is_other[i];
        s.member[members_] = s.other[others] = i;
        members_ += 1 - other, others += other;
      }
      others_[level] = others - before, begin = end;
      std::fill(s.below.begin() + static_cast<std::ptrdiff_t>(first_[level]),
                s.below.begin() + static_cast<std::ptrdiff_t>(members_), static_cast<std::uint32_t>(first_[level]));
    }
    first_[levels_] = members_;
    pitch_ = padded(members_);
    std::size_t places = pitch_;
    for (std::size_t level = 0; level < levels_; ++level) begin_[level] = places, places += padded(others_[level]);
    for (auto* part : {&s.exponential, &s.gain, &s.force, &s.curvature}) reserve(*part, places);
    fill_places();
  }

  void fill_places() {
    AverageScratch& s = scratch_;
    reserve(s.place, query_.documents());
    for (std::size_t a = 0; a < members_; ++a) {
      s.place[s.member[a]] = static_cast<std::uint32_t>(a);
      s.exponential[a] = query_.exponential[s.member[a]];
    }
    for (std::size_t a = members_; a < pitch_; ++a) s.exponential[a] = 1, s.gain[a] = 0;
    const std::uint32_t* other = s.other.data();
    for (std::size_t level = 0; level < levels_; ++level) {
      for (std::size_t a = first_[level]; a < first_[level + 1]; ++a) s.gain[a] = query_.gain[level];
      double* const exponential = s.exponential.data() + begin_[level];
      for (std::size_t k = 0; k < others_[level]; ++k) exponential[k] = query_.exponential[*other++];
      for (std::size_t k = others_[level]; k < padded(others_[level]); ++k) exponential[k] = 1;
    }
  }

  // Weights are rounded to whole multiples of a number so small that all sums are exact: what cancels out is 0. They
  // are the same for most queries.
  void round_weights() {
    const std::size_t positions = query_.weight.size();
    if (scratch_.rows == query_.rows && std::ranges::equal(scratch_.given, query_.weight)) return;
    scratch_.rows = query_.rows, scratch_.given.assign(query_.weight.begin(), query_.weight.end());
    scratch_.weight.resize(positions), scratch_.shares.resize(positions * positions);
    double* const weight = scratch_.weight.data();
    const double largest = *std::max_element(query_.weight.begin(), query_.weight.end());
    const double shift = std::ldexp(0x1.8p12, std::ilogb(largest) + 1);  // 2^-40 of the largest is the last bit
    for (std::size_t p = 0; p < positions; ++p) weight[p] = (query_.weight[p] + shift) - shift;
    for (std::size_t p = 0; p < positions; ++p) {
      for (std::size_t q = 0; q < positions; ++q) {
        const double own = p < query_.rows ? weight[p] : 0.0, other = q < query_.rows ? weight[q] : 0.0;
        const double gap = std::min(p, q) < query_.rows ? std::fabs(weight[p] - weight[q]) : 0.0;
        scratch_.shares[p * positions + q] = own + other - gap;
      }
    }
  }

  void weigh_members() {
    AverageScratch& s = scratch_;
    round_weights();
    const std::size_t pairs = few_ ? query_.orders() * pitch_ : members_ * pitch_;
    reserve(s.strength, pitch_), reserve(s.lanes, 2 * kBlock * pitch_), reserve(s.total, pitch_);
    reserve(few_ ? s.weights : s.shared, pairs);
    std::fill_n(s.total.begin(), pitch_, 0.0);
    std::fill_n((few_ ? s.weights : s.shared).begin(), pairs, 0.0);
    few_ ? weigh_orders() : weigh_pairs();
  }

  void weigh_orders() {
    const std::size_t positions = query_.weight.size(), orders = query_.orders();
    double weight[deepest_top];  // not in the scratch memory, where a store could change it
    std::copy_n(scratch_.weight.begin(), positions, weight);
    double* const total = scratch_.total.data();
    double* weights = scratch_.weights.data();
    const std::uint32_t *drawn = query_.drawn.data(), *const place = scratch_.place.data();
    for (std::size_t order = 0; order < orders; ++order, weights += pitch_, drawn += positions) {
      for (std::size_t p = 0; p < positions; ++p) {
        const std::uint32_t a = place[drawn[p]];
        weights[a] = weight[p], total[a] += weight[p];
      }
    }
  }

  void weigh_pairs() {
    AverageScratch& s = scratch_;
    const std::size_t positions = query_.weight.size(), rows = std::min(query_.rows, positions);
    std::uint32_t place[deepest_top];
    for (std::size_t order = 0; order < query_.orders(); ++order) {
      for (std::size_t p = 0; p < positions; ++p) place[p] = s.place[query_.drawn[order * positions + p]];
      for (std::size_t p = 0; p < rows; ++p) s.total[place[p]] += s.weight[p];
      for (std::size_t p = 0; p < positions; ++p) {  // both of the pair, since which comes first is not predictable
        double* const shared = s.shared.data() + place[p] * pitch_;
        const double* const shares = s.shares.data() + p * positions;
        for (std::size_t q = 0; q < positions; ++q) shared[place[q]] += shares[q];
      }
    }
  }

  const AveragedQuery& query_;
  AverageScratch& scratch_;
  const std::size_t levels_;
  const bool few_;  // orders, so that pairs of positions are not summed up first
  std::size_t members_ = 0, pitch_ = 0;
  std::size_t first_[kLevels + 1];                // the first member of each level
  std::size_t others_[kLevels], begin_[kLevels];  // how many others there are of each level, and their first place
};

}  // namespace

void add_averaged(const AveragedQuery& query, AverageScratch& scratch, double force_scale, double curvature_scale,
                  double* force, double* curvature) {
  if (query.drawn.empty()) return;
  Averaging averaging(query, scratch);
  averaging.run();
  averaging.collect(force_scale, curvature_scale, force, curvature);
}

}  // namespace podium
