#include <algorithm>
#include <cmath>
#include <numeric>

#include "forces/kernels.hpp"
#include "random.hpp"

namespace podium {
namespace {

// out = softmax(values); gives log Σ e^v.
double softmax(std::span<const double> values, std::vector<double>& out) {
  out.resize(values.size());
  const double most = *std::max_element(values.begin(), values.end());
  double total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) total += out[i] = std::exp(values[i] - most);
  for (double& value : out) value /= total;
  return most + std::log(total);
}

// Cross entropy between the target in scratch.row and softmax(scores): λ = target − p, w = p (1 − p).
void cross_entropy(const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const double log_total = softmax(query.scores, scratch.exponential);
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    const double p = scratch.exponential[i], target = scratch.row[i];
    sums.force[i] += target - p;
    if (sums.curvature) sums.curvature[i] += p * (1 - p);
    if (sums.cost && target > 0) *sums.cost += target * (log_total - query.scores[i]);
  }
}

// The target is softmax(labels). [Cao et al. 2007, top one]
void listnet(const Force&, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  if (query.scores.empty()) return;
  softmax(query.labels, scratch.row);
  cross_entropy(query, scratch, sums);
}

// The target is φ_i = (2^{l_i} − γ_i) / Σ_j (2^{l_j} − γ_j), γ uniform in [0, 1), drawn in each round. [Bruch 2021]
void xendcg(const Force&, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const std::size_t n = query.scores.size();
  if (n == 0) return;
  scratch.row.resize(n);
  const double most = *std::max_element(query.labels.begin(), query.labels.end());
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double gamma = random_unit(query.seed, query.round, query.key, i);
    total += scratch.row[i] = std::exp2(query.labels[i] - most) - gamma * std::exp2(-most);
  }
  for (double& target : scratch.row) target /= total;
  cross_entropy(query, scratch, sums);
}

// C = −Σ_r [s_π(r) − log Σ_{t ≥ r} e^{s_π(t)}], π sorts by label; equal labels are in a random order, drawn in each
// round. λ of the document at r is 1 − Σ_{t ≤ r} e^{s − L_t}, L_t the log of the sum from t on. [Xia et al. 2008]
void listmle(const Force&, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const std::size_t n = query.scores.size();
  if (n == 0) return;
  auto& order = scratch.order;
  order.resize(n);
  std::iota(order.begin(), order.end(), 0u);
  const auto draw = [&](std::uint32_t i) { return random_bits(query.seed, query.round, query.key, i); };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (query.labels[a] != query.labels[b]) return query.labels[a] > query.labels[b];
    const auto first = draw(a), second = draw(b);
    return first != second ? first < second : a < b;
  });
  auto& tail = scratch.row;  // L_t
  tail.resize(n);
  double running = -INFINITY;
  for (std::size_t t = n; t-- > 0;) {
    const double s = query.scores[order[t]];
    const double most = std::max(running, s);
    running = most + std::log(std::exp(running - most) + std::exp(s - most));
    tail[t] = running;
  }
  double once = -INFINITY, twice = -INFINITY;  // log Σ e^{−L_t} and log Σ e^{−2 L_t} over t ≤ r
  const auto add = [](double a, double b) {
    const double most = std::max(a, b);
    return most + std::log(std::exp(a - most) + std::exp(b - most));
  };
  for (std::size_t r = 0; r < n; ++r) {
    const std::uint32_t i = order[r];
    const double s = query.scores[i];
    once = add(once, -tail[r]);
    twice = add(twice, -2 * tail[r]);
    const double first = std::exp(s + once);
    sums.force[i] += 1 - first;
    if (sums.curvature) sums.curvature[i] += std::max(0.0, first - std::exp(2 * s + twice));
    if (sums.cost) *sums.cost += tail[r] - s;
  }
}

constexpr ForceKernel rows[] = {
    {.name = "listnet", .compute = listnet},
    {.name = "listmle", .compute = listmle},
    {.name = "xendcg", .compute = xendcg},
};

}  // namespace

std::span<const ForceKernel> list_forces() {
  return rows;
}

}  // namespace podium
