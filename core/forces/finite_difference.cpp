#include <algorithm>
#include <cmath>

#include "forces/kernels.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

// How far a document is moved: a share of the standard deviation of the scores, or of 1 if they are equal.
double step_size(std::span<const double> scores, double share) {
  const auto n = static_cast<double>(scores.size());
  double largest = 0, mean = 0, square = 0;
  for (const double s : scores) largest = std::max(largest, std::abs(s));
  if (largest == 0) return share;
  for (const double s : scores) mean += s / largest / n;
  for (const double s : scores) square += (s / largest - mean) * (s / largest - mean) / n;
  const double step = share * (largest * std::sqrt(square));  // scaled by `largest`, squares do not overflow
  const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
  return *most > *least && step > 0 ? step : share;
}

// The change of an additive metric if one document moves, from running sums of the changes of its neighbors.
class AdditiveMoves {
 public:
  AdditiveMoves(const Metric& metric, const AdditiveForm& form, const ForceQuery& query, ForceScratch& scratch)
      : query_(query), order_(scratch.ranked.order()), gains_(scratch.row), down_(scratch.force), up_(scratch.extra) {
    const std::size_t n = order_.size();
    weights_.assign(n + 1, 0.0);  // beyond the last position that counts the weight is 0
    std::copy_n(form.weights.begin(), std::min(n, form.weights.size()), weights_.begin());
    for (double& weight : weights_) weight /= form.norm;
    gains_.resize(n), down_.assign(n + 1, 0.0), up_.assign(n + 1, 0.0);
    for (std::size_t p = 0; p < n; ++p) gains_[p] = metric.gain_in(scratch.ranked, scratch.ranked.labels()[p]);
    for (std::size_t p = 0; p < n; ++p) {
      down_[p + 1] = down_[p] + gains_[p] * (weights_[p + 1] - weights_[p]);
      up_[p + 1] = up_[p] + (p == 0 ? 0.0 : gains_[p] * (weights_[p - 1] - weights_[p]));
    }
  }

  // Z with the document at position p raised to a score − Z with it lowered to another.
  double difference(std::size_t p, double raised, double lowered) const {
    const std::uint32_t document = order_[p];
    const auto before = [&](double score) {
      return [&, score](std::uint32_t other) {
        return query_.scores[other] > score || (query_.scores[other] == score && other < document);
      };
    };
    const auto up = std::partition_point(order_.begin(), order_.begin() + p, before(raised));
    const auto down = std::partition_point(order_.begin() + p + 1, order_.end(), before(lowered));
    const auto above = static_cast<std::size_t>(up - order_.begin());
    const auto below = static_cast<std::size_t>(down - order_.begin()) - 1;
    const double gain_up = gains_[p] * (weights_[above] - weights_[p]) + (down_[p] - down_[above]);
    const double gain_down = gains_[p] * (weights_[below] - weights_[p]) + (up_[below + 1] - up_[p + 1]);
    return gain_up - gain_down;
  }

 private:
  const ForceQuery& query_;
  std::span<const std::uint32_t> order_;
  std::vector<double>&gains_, &down_, &up_;
  std::vector<double> weights_;
};

// The same for any metric, which is computed again for each move.
class RankedMoves {
 public:
  RankedMoves(const Metric& metric, const ForceQuery& query, ForceScratch& scratch)
      : metric_(metric), scratch_(scratch), labels_(query.labels) {
    scratch_.noisy.assign(query.scores.begin(), query.scores.end());
  }

  double difference(std::size_t document, double raised, double lowered) {
    const double kept = scratch_.noisy[document];
    const double above = value_at(document, raised), below = value_at(document, lowered);
    scratch_.noisy[document] = kept;
    return std::isnan(above) || std::isnan(below) ? 0.0 : above - below;
  }

 private:
  double value_at(std::size_t document, double score) {
    scratch_.noisy[document] = score;
    scratch_.ranked.rank({scratch_.noisy, labels_}, scratch_.summary, Ties::input, labels_.size());
    return metric_.value(scratch_.ranked, metric_scratch_).value;
  }

  const Metric& metric_;
  ForceScratch& scratch_;
  std::span<const double> labels_;
  MetricScratch metric_scratch_;
};

// The change of the metric if each document in turn is moved up and down a little; shifted to sum to 0.
void finite_difference(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const ForceSpec& spec = force.spec();
  const Metric& metric = force.metric();
  const std::size_t n = query.scores.size();
  if (n < 2) return;
  const double step = step_size(query.scores, spec.step), sign = spec.lower_is_better ? -1.0 : 1.0;
  summarize(query.labels, scratch.summary);
  scratch.curvature.assign(n, 0.0);
  std::vector<double>& slope = scratch.curvature;
  InterruptPace pace;
  if (is_additive(metric.spec()) && metric.spec().ties != Ties::average) {
    scratch.ranked.rank({query.scores, query.labels}, scratch.summary, Ties::input, n);
    MetricScratch metric_scratch;
    const AdditiveForm form = metric.additive(scratch.ranked, metric_scratch);
    if (form.empty) return;
    const AdditiveMoves moves(metric, form, query, scratch);
    for (std::size_t p = 0; p < n; ++p) {
      pace.step(1);
      const std::uint32_t i = scratch.ranked.order()[p];
      slope[i] = moves.difference(p, query.scores[i] + step, query.scores[i] - step);
    }
  } else {
    RankedMoves moves(metric, query, scratch);
    for (std::size_t i = 0; i < n; ++i) {
      pace.step(2 * n);
      slope[i] = moves.difference(i, query.scores[i] + step, query.scores[i] - step);
    }
  }
  double mean = 0;
  for (double& each : slope) each *= sign / 2 / step, mean += each / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) sums.force[i] += slope[i] - mean;
}

constexpr ForceKernel rows[] = {{.name = "finite_difference", .compute = finite_difference}};

}  // namespace

std::span<const ForceKernel> difference_forces() {
  return rows;
}

}  // namespace podium
