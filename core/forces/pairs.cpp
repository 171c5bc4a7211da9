#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "dispatch.hpp"
#include "exponentials.hpp"
#include "forces/kernels.hpp"
#include "forces/logistic_row.hpp"
#include "forces/potentials.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

// The functions in which the forces over pairs differ.
struct PairForce {
  // The pull on a pair with gap o.
  Pull (*pull)(const ForceSpec& spec, double o, double target);
  // The target of a pair: the probability that the winner wins, or a gap in scores.
  double (*target)(double winner, double loser) = [](double winner, double loser) {
    return winner > loser ? 1.0 : 0.5;
  };
  // Whether a probability below 1 is a target; otherwise it weighs the pair and the reversed pair.
  bool soft_target = false;
  // Adds all pairs of the labels at once, and returns whether that was possible. Null: they are added one by one.
  bool (*all_at_once)(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch,
                      const ForceSums& sums) = nullptr;
};

template <const PairForce& pair_force>
void add_pair(const ForceSpec& spec, const ForceQuery& query, const ForceSums& sums, std::size_t winner,
              std::size_t loser, double target, double weight) {
  const Pull p = pair_force.pull(spec, query.scores[winner] - query.scores[loser], target);
  sums.force[winner] += weight * p.force;
  sums.force[loser] -= weight * p.force;
  if (sums.curvature) {
    sums.curvature[winner] += weight * p.curvature;
    sums.curvature[loser] += weight * p.curvature;
  }
  if (sums.cost) *sums.cost += weight * p.cost;
}

// The pair in the order of its labels; equal labels only if ties are trained on.
template <const PairForce& pair_force>
void add_labeled(const ForceSpec& spec, const ForceQuery& query, const ForceSums& sums, std::size_t a, std::size_t b) {
  if (query.labels[b] > query.labels[a]) std::swap(a, b);
  if (query.labels[a] == query.labels[b] && !spec.ties) return;
  const double target = pair_force.target(query.labels[a], query.labels[b]);
  add_pair<pair_force>(spec, query, sums, a, b, target, query.weight(a) * query.weight(b));
}

// With probability P̄ the winner wins, else the other way. Without labels, pairwise_regression wants a gap of 1.
template <const PairForce& pair_force>
void add_given(const ForceSpec& spec, const ForceQuery& query, const ForceSums& sums, const GivenPair& pair) {
  const double weight = pair.weight * query.weight(pair.winner) * query.weight(pair.loser);
  if (pair_force.soft_target) {
    return add_pair<pair_force>(spec, query, sums, pair.winner, pair.loser, pair.probability, weight);
  }
  add_pair<pair_force>(spec, query, sums, pair.winner, pair.loser, 1.0, weight * pair.probability);
  if (pair.probability < 1) {
    add_pair<pair_force>(spec, query, sums, pair.loser, pair.winner, 1.0, weight * (1 - pair.probability));
  }
}

void sort_by_score(const ForceQuery& query, std::vector<std::uint32_t>& order) {
  order.resize(query.scores.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return query.scores[a] > query.scores[b]; });
}

template <const PairForce& pair_force>
void neighbor_force(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  sort_by_score(query, scratch.order);
  if (!query.has_pairs) {
    for (std::size_t p = 1; p < scratch.order.size(); ++p) {
      add_labeled<pair_force>(spec, query, sums, scratch.order[p - 1], scratch.order[p]);
    }
    return;
  }
  std::vector<std::uint32_t> position(scratch.order.size());
  for (std::uint32_t p = 0; p < position.size(); ++p) position[scratch.order[p]] = p;
  for (const GivenPair& pair : query.pairs) {
    const auto a = position[pair.winner], b = position[pair.loser];
    if (a + 1 == b || b + 1 == a) add_given<pair_force>(spec, query, sums, pair);
  }
}

// Σ over pairs of the margin losses in O(n log n): documents join a tree over score ranks in the order of their labels,
// so that each asks only about lower (then higher) labels: how many are inside the margin, and Σ s and Σ s² of them.
class MarginSums {
 public:
  MarginSums(bool squared, const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums)
      : squared_(squared), spec_(spec), query_(query), scratch_(scratch), sums_(sums), n_(query.scores.size()) {
    auto& order = scratch_.order;
    sort_by_score(query, order);
    scratch_.score.resize(n_), rank_.resize(n_);
    for (std::size_t r = 0; r < n_; ++r) scratch_.score[r] = query.scores[order[r]], rank_[order[r]] = r;
    origin_ = scratch_.score[n_ / 2];  // sums of scores keep more digits when counted from the middle of the list
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return query.labels[a] < query.labels[b]; });
  }

  void run() {
    sweep(true);
    std::reverse(scratch_.order.begin(), scratch_.order.end());
    sweep(false);
  }

 private:
  // As winners, documents meet the lower labels that score above s − δ; as losers, the higher ones below s + δ.
  void sweep(bool winners) {
    scratch_.sums.clear(n_);
    const auto& order = scratch_.order;
    for (std::size_t begin = 0, end = 0; begin < n_; begin = end) {
      while (end < n_ && query_.labels[order[end]] == query_.labels[order[begin]]) ++end;
      for (std::size_t k = begin; k < end; ++k) add(order[k], inside(query_.scores[order[k]], winners), winners);
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t i = order[k], rank = rank_[i];
        scratch_.sums.add(winners ? rank : n_ - 1 - rank, query_.weight(i), query_.scores[i] - origin_);
      }
    }
  }

  OrderSums::Sums inside(double s, bool winners) const {
    const auto& scores = scratch_.score;  // falling
    if (winners) {
      const auto end =
          std::partition_point(scores.begin(), scores.end(), [&](double t) { return s - t < spec_.margin; });
      return scratch_.sums.first(static_cast<std::size_t>(end - scores.begin()));
    }
    const auto end =
        std::partition_point(scores.begin(), scores.end(), [&](double t) { return t - s >= spec_.margin; });
    return scratch_.sums.first(static_cast<std::size_t>(scores.end() - end));
  }

  void add(std::size_t i, const OrderSums::Sums& met, bool winner) {
    const double weight = query_.weight(i), sign = winner ? 1.0 : -1.0;
    // A pair is δ − o inside the margin: δ − s_i + s_j for a winner i, δ − s_j + s_i for a loser.
    const double own = spec_.margin - sign * (query_.scores[i] - origin_);
    const double depth = own * met.count + sign * met.sum;
    if (!squared_) {
      sums_.force[i] += sign * weight * met.count;
      if (sums_.cost && winner) *sums_.cost += weight * depth;
      return;
    }
    sums_.force[i] += sign * 2 * weight * depth;
    if (sums_.curvature) sums_.curvature[i] += 2 * weight * met.count;
    if (sums_.cost && winner) {
      *sums_.cost += weight * (own * own * met.count + 2 * own * sign * met.sum + met.square);
    }
  }

  const bool squared_;
  const ForceSpec& spec_;
  const ForceQuery& query_;
  ForceScratch& scratch_;
  const ForceSums& sums_;
  const std::size_t n_;
  std::vector<std::size_t> rank_;
  double origin_ = 0;
};

// e^{−(s_i − s_j)} = e^{−s_i} · e^{s_j}: sums over lower and higher labels, O(n log n).
void exponential_sums(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums, double middle) {
  auto& order = scratch.order;
  const std::size_t n = query.scores.size();
  order.resize(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return query.labels[a] < query.labels[b]; });
  for (const bool winners : {true, false}) {
    const double sign = winners ? 1.0 : -1.0;
    double met = 0;
    for (std::size_t begin = 0, end = 0; begin < n; begin = end) {
      while (end < n && query.labels[order[end]] == query.labels[order[begin]]) ++end;
      double joining = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const std::size_t i = order[k];
        const double s = query.scores[i] - middle, weight = query.weight(i);
        const double e = weight * std::exp(-sign * s) * met;
        sums.force[i] += sign * e;
        if (sums.curvature) sums.curvature[i] += e;
        if (sums.cost && winners) *sums.cost += e;
        joining += weight * std::exp(sign * s);
      }
      met += joining;
    }
    std::reverse(order.begin(), order.end());
  }
}

// RankNet over all pairs of different labels.
template <bool kCurvature>
PODIUM_INLINE void logistic_rows(std::size_t n, const LogisticRow& row) {
  for (InterruptBlocks block(n, n); block.next();) {
    for (std::size_t i = block.begin(); i < block.end(); ++i) {
      logistic_row<kCurvature>(i, i + 1, n, row.weight[i], row);
    }
  }
}
void logistic_rows_portable(std::size_t n, const LogisticRow& row) {
  row.curvature ? logistic_rows<true>(n, row) : logistic_rows<false>(n, row);
}
PODIUM_AVX2 void logistic_rows_avx2(std::size_t n, const LogisticRow& row) {
  row.curvature ? logistic_rows<true>(n, row) : logistic_rows<false>(n, row);
}

// −Σ log(1 − ρ) over pairs of different labels, the logarithm taken of products of eight.
double logistic_cost(std::size_t n, const double* label, const double* e, double* right) {
  double cost = 0;
  InterruptPace pace;
  for (std::size_t i = 0; i < n; ++i) {
    pace.step(n - i);
    for (std::size_t j = i + 1; j < n; ++j) {
      const double chance = (label[i] > label[j] ? e[i] : e[j]) / (e[i] + e[j]);  // not 1 − ρ, which may round to 0
      right[j] = label[i] == label[j] ? 1.0 : chance;
    }
    std::size_t j = i + 1;
    for (; j + 8 <= n; j += 8) {
      cost -= std::log(((right[j] * right[j + 1]) * (right[j + 2] * right[j + 3])) *
                       ((right[j + 4] * right[j + 5]) * (right[j + 6] * right[j + 7])));
    }
    for (; j < n; ++j) cost -= std::log(right[j]);
  }
  return cost;
}

void logistic_sums(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums,
                   double middle) {
  const std::size_t n = query.scores.size();
  scratch.exponential.resize(n), scratch.weight.resize(n), scratch.row.resize(n);
  scratch.force.assign(n, 0.0);
  if (sums.curvature) scratch.curvature.assign(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    scratch.exponential[i] = spec.sigma * (query.scores[i] - middle);
    scratch.weight[i] = query.weight(i);
  }
  exponentials({scratch.exponential.data(), n});
  const LogisticRow row{query.labels.data(),
                        scratch.exponential.data(),
                        scratch.weight.data(),
                        scratch.force.data(),
                        sums.curvature ? scratch.curvature.data() : nullptr,
                        nullptr};
  (has_avx2() ? logistic_rows_avx2 : logistic_rows_portable)(n, row);
  if (sums.cost) *sums.cost += logistic_cost(n, row.label, row.exponential, scratch.row.data());
  for (std::size_t i = 0; i < n; ++i) {
    sums.force[i] += spec.sigma * scratch.force[i];
    if (sums.curvature) sums.curvature[i] += spec.sigma * spec.sigma * scratch.curvature[i];
  }
}

struct ScoreRange {
  double range, middle;
};

ScoreRange score_range(const ForceQuery& query) {
  const auto [least, most] = std::minmax_element(query.scores.begin(), query.scores.end());
  return {*most - *least, *least + (*most - *least) / 2};
}

// The sums below add and divide what lies far apart; beyond these ranges they would lose digits or overflow.

template <bool squared>
bool margin_at_once(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  if (!(score_range(query).range < 1e6 * spec.margin)) return false;
  MarginSums(squared, spec, query, scratch, sums).run();
  return true;
}

bool exponential_at_once(const ForceSpec&, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const auto [range, middle] = score_range(query);
  if (!(range < kSteepest)) return false;
  exponential_sums(query, scratch, sums, middle);
  return true;
}

bool logistic_at_once(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const auto [range, middle] = score_range(query);
  // A product of eight chances of at least e^−80 does not underflow.
  const double steepest = sums.cost ? (query.weights.empty() ? 80 : 0) : 600;
  if (spec.ties || !(spec.sigma * range < steepest)) return false;
  logistic_sums(spec, query, scratch, sums, middle);
  return true;
}

bool regression_at_once(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  pairwise_regression_force(spec, query, scratch, sums);
  return true;
}

constexpr PairForce ranknet{
    .pull = [](const ForceSpec& spec, double o, double target) { return logistic_pull(o, spec.sigma, target); },
    .soft_target = true,
    .all_at_once = logistic_at_once};
constexpr PairForce spring{.pull = [](const ForceSpec& spec, double o, double) { return spring_pull(o, spec.margin); }};
constexpr PairForce hinge{.pull = [](const ForceSpec& spec, double o, double) { return hinge_pull(o, spec.margin); },
                          .all_at_once = margin_at_once<false>};
constexpr PairForce squared_hinge{
    .pull = [](const ForceSpec& spec, double o, double) { return squared_hinge_pull(o, spec.margin); },
    .all_at_once = margin_at_once<true>};
constexpr PairForce exponential{.pull = [](const ForceSpec&, double o, double) { return exponential_pull(o); },
                                .all_at_once = exponential_at_once};
constexpr PairForce pairwise_regression{
    .pull = [](const ForceSpec&, double o, double target) { return regression_pull(o, target); },
    .target = [](double winner, double loser) { return winner - loser; },
    .all_at_once = regression_at_once};

template <const PairForce& pair_force>
void add_pairs(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const std::size_t n = query.scores.size();
  if (n < 2) return;
  if (spec.neighbors) return neighbor_force<pair_force>(spec, query, scratch, sums);
  InterruptPace pace;
  if (query.has_pairs) {
    for (const GivenPair& pair : query.pairs) {
      pace.step(1);
      add_given<pair_force>(spec, query, sums, pair);
    }
    return;
  }
  if (pair_force.all_at_once && pair_force.all_at_once(spec, query, scratch, sums)) return;
  for (std::size_t i = 0; i < n; ++i) {
    pace.step(n - i);
    for (std::size_t j = i + 1; j < n; ++j) add_labeled<pair_force>(spec, query, sums, i, j);
  }
}

template <const PairForce& pair_force>
void compute(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  add_pairs<pair_force>(force.spec(), query, scratch, sums);
}

constexpr ForceKernel rows[] = {
    {.name = "ranknet", .compute = compute<ranknet>},
    {.name = "spring", .compute = compute<spring>},
    {.name = "hinge", .compute = compute<hinge>},
    {.name = "squared_hinge", .compute = compute<squared_hinge>},
    {.name = "exponential", .compute = compute<exponential>},
    {.name = "pairwise_regression", .compute = compute<pairwise_regression>},
};

}  // namespace

std::span<const ForceKernel> pair_forces() {
  return rows;
}

void ranknet_force(const ForceSpec& spec, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  add_pairs<ranknet>(spec, query, scratch, sums);
}

}  // namespace podium
