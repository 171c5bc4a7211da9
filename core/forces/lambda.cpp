#include <algorithm>
#include <cmath>
#include <optional>

#include "dispatch.hpp"
#include "exponentials.hpp"
#include "forces/kernels.hpp"
#include "forces/lambda_top.hpp"
#include "forces/logistic_row.hpp"
#include "forces/potentials.hpp"
#include "interrupt.hpp"
#include "random.hpp"

namespace podium {
namespace {

void lambda_row_portable(std::size_t p, std::size_t n, const LogisticRow& row) {
  row.curvature ? logistic_row<true>(p, p + 1, n, 1.0, row) : logistic_row<false>(p, p + 1, n, 1.0, row);
}
PODIUM_AVX2 void lambda_row_avx2(std::size_t p, std::size_t n, const LogisticRow& row) {
  row.curvature ? logistic_row<true>(p, p + 1, n, 1.0, row) : logistic_row<false>(p, p + 1, n, 1.0, row);
}

void add_partners(std::size_t p, std::span<const std::uint32_t> partners, const LogisticRow& row) {
  row.curvature ? logistic_partners<true>(p, p + 1, partners, 1.0, row)
                : logistic_partners<false>(p, p + 1, partners, 1.0, row);
}

class Lambdas {
 public:
  // The `draw`-th of the orders that noise makes; without noise there is one.
  Lambdas(const Force& force, bool is_step, const ForceQuery& query, ForceScratch& scratch, bool curvature,
          std::size_t draw)
      : spec_(force.spec()),
        is_step_(is_step),
        query_(query),
        scratch_(scratch),
        n_(query.scores.size()),
        curvature_(curvature) {
    const ForceSpec& spec = force.spec();
    const Metric& metric = force.metric();
    QueryView view{query.scores, query.labels};
    if (spec.noise > 0) view.scores = perturbed(draw);
    summarize(query.labels, scratch.summary);
    rank(view, metric);
    if (counts_pairs(metric.spec())) break_ties(view);
    scratch.swaps.prepare(metric, scratch.ranked);
    scratch.score.resize(n_), scratch.exponential.resize(n_), scratch.row.resize(n_);
    scratch.force.assign(n_, 0.0), scratch.curvature.assign(n_, 0.0);
    for (std::size_t p = 0; p < n_; ++p) scratch.score[p] = query.scores[scratch.ranked.order()[p]];
    label_ = scratch.ranked.labels().data();
    const auto [least, most] = std::minmax_element(query.scores.begin(), query.scores.end());
    damps_ = spec.damping && *most > *least;
  }

  void all_pairs() {
    std::size_t rows = std::min(n_, scratch_.swaps.depth());  // swapping two documents below the depth has no effect
    if (spec_.truncation > 0) rows = std::min(rows, spec_.truncation);
    double least = scratch_.score[0], most = least;
    for (std::size_t p = 1; p < n_; ++p) {
      least = scratch_.score[p] < least ? scratch_.score[p] : least;
      most = scratch_.score[p] > most ? scratch_.score[p] : most;
    }
    const double range = most - least, middle = least + range / 2;
    const bool fast = !is_step_ && spec_.sigma * range < 600 && query_.weights.empty();
    if (fast) {
      for (std::size_t p = 0; p < n_; ++p) scratch_.exponential[p] = spec_.sigma * (scratch_.score[p] - middle);
      exponentials({scratch_.exponential.data(), n_});
    }
    const LogisticRow row{label_,
                          scratch_.exponential.data(),
                          scratch_.row.data(),
                          scratch_.force.data(),
                          curvature_ ? scratch_.curvature.data() : nullptr,
                          &total_};
    const auto add_row = has_avx2() ? lambda_row_avx2 : lambda_row_portable;
    for (InterruptBlocks block(rows, n_); block.next();) {
      for (std::size_t p = block.begin(); p < block.end(); ++p) {
        if (const auto partners = scratch_.swaps.few_partners(p)) {
          for (const std::uint32_t q : *partners) scratch_.row[q] = damped(scratch_.swaps.pair(p, q), p, q);
          if (fast) {
            add_partners(p, *partners, row);
          } else {
            for (const std::uint32_t q : *partners) add(p, q, scratch_.row[q]);
          }
          continue;
        }
        scratch_.swaps.row(p, scratch_.row, p + 1);
        if (damps_) damp(p);
        if (fast) {
          add_row(p, n_, row);
        } else {
          for (std::size_t q = p + 1; q < n_; ++q) add(p, q, scratch_.row[q]);
        }
      }
    }
    if (!fast) return;
    total_ *= spec_.sigma;
    for (std::size_t p = 0; p < n_; ++p) {
      scratch_.force[p] *= spec_.sigma;
      scratch_.curvature[p] *= spec_.sigma * spec_.sigma;
    }
  }

  // Queries with many or wide pairs count less: forces grow with the logarithm of their sum. [as LightGBM does]
  void normalize() {
    const double sum = 2 * total_;
    if (!(sum > 0)) return;
    const double scale = std::log2(1 + sum) / sum;
    for (std::size_t p = 0; p < n_; ++p) scratch_.force[p] *= scale, scratch_.curvature[p] *= scale;
  }

  void neighbors() {
    InterruptPace pace;
    for (std::size_t p = 0; p + 1 < n_ && !truncated(p, p + 1); ++p) {
      pace.step(scratch_.swaps.pair_cost());
      add(p, p + 1, damped(scratch_.swaps.pair(p, p + 1), p, p + 1));
    }
  }

  void given_pairs() {
    std::vector<std::uint32_t> position(n_);
    for (std::uint32_t p = 0; p < n_; ++p) position[scratch_.ranked.order()[p]] = p;
    InterruptPace pace;
    for (const GivenPair& pair : query_.pairs) {
      pace.step(scratch_.swaps.pair_cost());
      const std::uint32_t p = position[pair.winner], q = position[pair.loser];
      if ((spec_.neighbors && p + 1 != q && q + 1 != p) || truncated(p, q)) continue;
      const double delta = damped(scratch_.swaps.pair(p, q), p, q);
      push(p, q, delta, pair.weight * pair.probability);
      push(q, p, delta, pair.weight * (1 - pair.probability));
    }
  }

  void collect(const ForceSums& sums, double share) const {
    for (std::size_t p = 0; p < n_; ++p) {
      const std::uint32_t i = scratch_.ranked.order()[p];
      sums.force[i] += share * scratch_.force[p];
      if (sums.curvature) sums.curvature[i] += share * scratch_.curvature[p];
    }
  }

 private:
  // The ranks that the documents could equally well have.
  std::span<const double> perturbed(std::size_t draw) {
    scratch_.noisy.resize(n_);
    add_noise(query_.scores, spec_.noise, random_bits(query_.seed, query_.round, query_.key, draw),
              scratch_.noisy.data());
    return scratch_.noisy;
  }

  // If the metric and the truncation use the first ranks only, the order of the others does not matter.
  void rank(const QueryView& view, const Metric& metric) {
    const std::size_t depth = std::max(SwapDeltas::depth_of(metric, n_), std::min(n_, spec_.truncation));
    if (depth < n_ && !spec_.neighbors && !query_.has_pairs) {
      scratch_.ranked.rank_first(view, scratch_.summary, depth);
    } else {
      scratch_.ranked.rank(view, scratch_.summary, Ties::input, whole_list);
    }
  }

  void damp(std::size_t p) {
    for (std::size_t q = p + 1; q < n_; ++q) scratch_.row[q] /= 0.01 + std::fabs(scratch_.score[p] - scratch_.score[q]);
  }

  double damped(double delta, std::size_t p, std::size_t q) const {
    return damps_ ? delta / (0.01 + std::fabs(scratch_.score[p] - scratch_.score[q])) : delta;
  }

  bool truncated(std::size_t p, std::size_t q) const {
    return spec_.truncation > 0 && std::min(p, q) >= spec_.truncation;
  }

  // Metrics that count pairs see equal scores as half right, so that nothing would change when two of them swap; the
  // force depends on ranks, which stay as they are.
  void break_ties(QueryView view) {
    scratch_.extra.resize(n_);
    for (std::size_t p = 0; p < n_; ++p) scratch_.extra[scratch_.ranked.order()[p]] = -static_cast<double>(p);
    view.scores = scratch_.extra;
    scratch_.ranked.rank(view, scratch_.summary, Ties::input, whole_list);
  }

  void add(std::size_t p, std::size_t q, double delta) {
    if (label_[p] > label_[q]) push(p, q, delta, 1.0);
    if (label_[q] > label_[p]) push(q, p, delta, 1.0);
  }

  void push(std::size_t winner, std::size_t loser, double delta, double weight) {
    if (weight == 0) return;
    const auto order = scratch_.ranked.order();
    weight *= std::fabs(delta) * query_.weight(order[winner]) * query_.weight(order[loser]);
    const double o = scratch_.score[winner] - scratch_.score[loser];
    double force = 0, bend = 0;
    if (is_step_) {
      force = o < spec_.margin ? weight : 0.0;
    } else {
      const double rho = falling_logistic(spec_.sigma * o);
      force = spec_.sigma * weight * rho;
      bend = spec_.sigma * spec_.sigma * weight * rho * (1 - rho);
    }
    total_ += force;
    scratch_.force[winner] += force;
    scratch_.force[loser] -= force;
    scratch_.curvature[winner] += bend;
    scratch_.curvature[loser] += bend;
  }

  const ForceSpec& spec_;
  const bool is_step_;  // a pull of full strength up to the margin, instead of the logistic one
  const ForceQuery& query_;
  ForceScratch& scratch_;
  const std::size_t n_;
  const bool curvature_;
  const double* label_ = nullptr;
  double total_ = 0;    // of the forces of all pairs
  bool damps_ = false;  // not if all scores are equal [as LightGBM and XGBoost do]
};

void lambda_force(const Force& force, bool is_step, const ForceQuery& query, ForceScratch& scratch,
                  const ForceSums& sums) {
  if (query.scores.size() < 2) return;
  const ForceSpec& spec = force.spec();
  const std::size_t draws = spec.noise > 0 ? spec.draws : 1;
  const double share = 1 / static_cast<double>(draws);
  std::optional<TopLambdas> top;
  if (!is_step) top.emplace(force, query, scratch);
  InterruptPace pace;
  if (top && top->fits() && top->averages()) {
    pace.step(draws * query.scores.size());
    return top->add_average(sums);
  }
  for (std::size_t draw = 0; draw < draws; ++draw) {
    if (top && top->fits() && top->add(draw, share, sums)) {
      pace.step(query.scores.size());
      continue;
    }
    Lambdas lambdas(force, is_step, query, scratch, sums.curvature != nullptr, draw);
    if (query.has_pairs) {
      lambdas.given_pairs();
    } else if (spec.neighbors) {
      lambdas.neighbors();
    } else {
      lambdas.all_pairs();
    }
    if (spec.normalize) lambdas.normalize();
    lambdas.collect(sums, share);
  }
}

// σρ|ΔZ| for every pair of different labels, ΔZ the change of the metric when the two swap places. [LambdaRank]
void lambdarank(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  lambda_force(force, false, query, scratch, sums);
}

// |ΔZ| while the gap is below the margin.
void step(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  lambda_force(force, true, query, scratch, sums);
}

constexpr ForceKernel rows[] = {{.name = "lambdarank", .compute = lambdarank, .describe = describe_labels},
                                {.name = "step", .compute = step}};

}  // namespace

std::span<const ForceKernel> lambda_forces() {
  return rows;
}

}  // namespace podium
