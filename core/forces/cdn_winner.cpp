// All preferences of one winner at once, in a sigmoid of many variables:
//
//   C = Σ_i v_i log(1 + Σ_{j: i above j} v_j e^{−w (s_i − s_j)})
//
// where a document of weight v counts as v documents. On a total order it is ListMLE's cost.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "forces/cdn.hpp"
#include "forces/cdn_preferences.hpp"
#include "forces/kernels.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

// log Σ v e^z of terms that are added one by one, without overflow.
class LogSum {
 public:
  void add(double weight, double z) {
    if (!(weight > 0)) return;
    if (z > most_) sum_ *= std::exp(most_ - z), most_ = z;
    sum_ += weight * std::exp(z - most_);
  }
  bool is_empty() const { return most_ == -INFINITY; }
  double value() const { return is_empty() ? -INFINITY : most_ + std::log(sum_); }

 private:
  double most_ = -INFINITY, sum_ = 0;
};

// By labels: losers are all documents of lower labels, so that running sums over the order of the labels are enough.
class ByLabels {
 public:
  ByLabels(const ForceQuery& query, ForceScratch& scratch)
      : query_(query), order_(scratch.order), place_(scratch.score), total_(scratch.row), n_(query.labels.size()) {
    order_.resize(n_);
    std::iota(order_.begin(), order_.end(), 0u);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return query.labels[a] > query.labels[b]; });
    check_interrupt();
    place_.resize(n_), total_.resize(n_);
    most_ = n_ == 0 ? 0 : *std::max_element(query.scores.begin(), query.scores.end());
    for (std::size_t k = 0; k < n_; ++k) {
      if (is_winner(k)) weight_ += query.weight(order_[k]);
    }
  }
  double weight() const { return weight_; }

  // Adds the forces of one component, divided by `divisor`.
  void add(double w, double divisor, const ForceSums& sums, double* on_w) {
    for (std::size_t i = 0; i < n_; ++i) place_[i] = std::max(w * gap(i), -CdnEdges::kFarthest);
    as_winners(w, divisor, sums, on_w);
    as_losers(w, divisor, sums, on_w);
  }

 private:
  // Below the highest score, so that nothing overflows.
  double gap(std::size_t i) const { return std::max(query_.scores[i] - most_, -CdnEdges::kFarthest); }
  double label(std::size_t k) const { return query_.labels[order_[k]]; }
  // Whether any document has a lower label and a weight.
  bool is_winner(std::size_t k) const { return query_.weight(order_[k]) > 0 && label(k) > lowest(); }
  double lowest() const {
    if (std::isnan(lowest_)) {
      lowest_ = INFINITY;
      for (std::size_t k = n_; k-- > 0;) {
        if (query_.weight(order_[k]) > 0) lowest_ = std::min(lowest_, label(k));
      }
    }
    return lowest_;
  }

  // From the lowest label up, with the sum over all documents below.
  void as_winners(double w, double divisor, const ForceSums& sums, double* on_w) {
    LogSum below;
    for (std::size_t end = n_; end > 0;) {
      std::size_t begin = end;
      while (begin > 0 && label(begin - 1) == label(end - 1)) --begin;
      const double sum = below.value();
      for (std::size_t k = begin; k < end; ++k) {
        const std::uint32_t i = order_[k];
        const double z = place_[i], v = query_.weight(i);
        total_[i] = z;
        if (below.is_empty()) continue;
        const double distance = sum - z;
        const CdnTerm term(distance);
        total_[i] = std::max(z, sum) + std::log1p(term.fade);  // as large as either, also where scores have lost digits
        sums.force[i] += v * w * term.q / divisor;
        if (sums.curvature) sums.curvature[i] += v * w * w * term.q * term.rest / divisor;
        if (sums.cost) *sums.cost += v * term.softplus(distance) / divisor;
        if (on_w) *on_w += v * term.q * gap(i) / divisor;
      }
      for (std::size_t k = begin; k < end; ++k) below.add(query_.weight(order_[k]), place_[order_[k]]);
      end = begin;
    }
  }

  // From the highest label down, with the sums over all documents above of 1 / total and of its square.
  void as_losers(double w, double divisor, const ForceSums& sums, double* on_w) {
    LogSum above, squares;
    for (std::size_t begin = 0; begin < n_;) {
      std::size_t end = begin;
      while (end < n_ && label(end) == label(begin)) ++end;
      for (std::size_t k = begin; k < end && !above.is_empty(); ++k) {
        const std::uint32_t j = order_[k];
        const double v = query_.weight(j), share = v * std::exp(place_[j] + above.value());
        sums.force[j] -= w * share / divisor;
        if (sums.curvature) {
          const double square = v * v * std::exp(2 * place_[j] + squares.value());
          sums.curvature[j] += w * w * std::max(share - square, 0.0) / divisor;
        }
        if (on_w) *on_w -= share * gap(j) / divisor;
      }
      for (std::size_t k = begin; k < end; ++k) {
        const double v = query_.weight(order_[k]), total = total_[order_[k]];
        above.add(v, -total), squares.add(v, -2 * total);
      }
      begin = end;
    }
  }

  const ForceQuery& query_;
  std::vector<std::uint32_t>& order_;
  std::vector<double>&place_, &total_;
  const std::size_t n_;
  double most_ = 0, weight_ = 0;
  mutable double lowest_ = NAN;
};

// By preferences one by one, in O(E): given pairs, or noise that differs from document to document.
class ByPreferences {
 public:
  ByPreferences(const ForceQuery& query, CdnEdges& edges)
      : query_(query), edges_(edges), of_(edges, query.labels.size()) {
    for (std::size_t i = 0; i < query.labels.size(); ++i) {
      const auto begin = of_.sign.begin() + of_.begin[i], end = of_.sign.begin() + of_.begin[i + 1];
      if (std::find(begin, end, 1.0) != end) weight_ += query.weight(i);
    }
  }
  double weight() const { return weight_; }

  // Prepares `first` of all edges, as cdn_collect takes it, and adds curvature and cost.
  void add(double w, double divisor, const ForceSums& sums) {
    edges_.cost = 0;
    InterruptPace pace;
    for (std::size_t i = 0; i < query_.labels.size(); ++i) {
      double most = 0, sum = 0;
      each(i, [&](std::size_t e) { most = std::max(most, edges_.t[e]); });
      each(i, [&](std::size_t e) { sum += inner(i, e) * std::exp(edges_.t[e] - most); });
      if (sum == 0) continue;
      pace.step(16 * (of_.begin[i + 1] - of_.begin[i]));
      const double total = std::exp(-most) + sum, v = query_.weight(i);
      each(i, [&](std::size_t e) {
        edges_.first[e] = v * inner(i, e) * std::exp(edges_.t[e] - most) / (total * edges_.weight[e]);
      });
      edges_.cost += v * (most == 0 ? std::log1p(sum) : most + std::log(total));
      if (sums.curvature) add_curvature(i, w, divisor, sums.curvature);
    }
  }

 private:
  template <class Body>
  void each(std::size_t i, Body&& body) const {
    for (std::size_t a = of_.begin[i]; a < of_.begin[i + 1]; ++a) {
      if (of_.sign[a] > 0) body(of_.edge[a]);
    }
  }
  // The weight of a preference beside that of its winner.
  double inner(std::size_t i, std::size_t e) const { return edges_.weight[e] / query_.weight(i); }

  // A variance: of the slopes of the edges' gaps, each with its share of the sum.
  void add_curvature(std::size_t i, double w, double divisor, double* curvature) {
    const double v = query_.weight(i), scale = v * w * w / divisor;
    double mean = 0, square = 0;
    each(i, [&](std::size_t e) {
      const double share = edges_.first[e] * edges_.weight[e] / v, slope = edges_.lever[e] / edges_.weight[e];
      mean += share * slope, square += share * slope * slope;
      pull_[edges_.loser[e]] += share * slope;
      curvature[edges_.loser[e]] += scale * share * slope * slope;
    });
    curvature[i] += scale * std::max(square - mean * mean, 0.0);
    each(i, [&](std::size_t e) {
      double& pull = pull_[edges_.loser[e]];
      curvature[edges_.loser[e]] = std::max(curvature[edges_.loser[e]] - scale * pull * pull, 0.0);
      pull = 0;
    });
  }

  const ForceQuery& query_;
  CdnEdges& edges_;
  const CdnIncidence of_;
  std::vector<double> pull_ = std::vector<double>(query_.labels.size(), 0.0);
  double weight_ = 0;
};

}  // namespace

void cdn_winner(const CdnSpec& spec, std::span<const double> values, const ForceQuery& query, ForceScratch& scratch,
                const ForceSums& sums) {
  const auto noise = values.subspan(spec.components);
  if (!query.has_pairs && !has_noise(query, noise)) {
    ByLabels by_labels(query, scratch);
    if (!(by_labels.weight() > 0)) return;
    const double divisor = spec.mean ? by_labels.weight() : 1;
    for (std::size_t k = 0; k < spec.components; ++k) {
      by_labels.add(values[k], divisor, sums, sums.parameter_force ? sums.parameter_force + k : nullptr);
    }
    return;
  }
  CdnEdges& edges = scratch.cdn;
  edges.collect(query, noise, scratch.order);
  ByPreferences by_preferences(query, edges);
  if (!(by_preferences.weight() > 0)) return;
  const double divisor = spec.mean ? by_preferences.weight() : 1;
  for (std::size_t k = 0; k < spec.components; ++k) {
    const CdnComponent component = spec.component(values, k);
    edges.prepare(spec, component, 0, {});
    by_preferences.add(component.w1, divisor, sums);
    cdn_collect(edges, spec, component, query, divisor, sums);
  }
}

}  // namespace podium
