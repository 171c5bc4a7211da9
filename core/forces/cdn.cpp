#include "forces/cdn.hpp"

#include <numeric>

#include "dispatch.hpp"
#include "exponentials.hpp"
#include "forces/kernels.hpp"
#include "forces/potentials.hpp"
#include "interrupt.hpp"
#include "random.hpp"
#include "unreachable.hpp"

namespace podium {
namespace {

constexpr std::size_t kExactMost = 128;  // edges; with more, interpolation takes less time than term by term
constexpr double kFarthest = 1e200;      // gaps beyond this count as this, so that no product of them overflows

// body(winner, loser, weight) for every preference of the query. One that holds with a probability is two, one each
// way. Those of labels come winner by winner.
template <class Body>
void for_each_edge(const ForceQuery& query, std::vector<std::uint32_t>& order, Body&& body) {
  const auto edge = [&](std::size_t winner, std::size_t loser, double weight) {
    weight *= query.weight(winner) * query.weight(loser);
    if (weight > 0 && winner != loser) body(winner, loser, weight);
  };
  if (query.has_pairs) {
    for (const GivenPair& pair : query.pairs) {
      edge(pair.winner, pair.loser, pair.weight * pair.probability);
      edge(pair.loser, pair.winner, pair.weight * (1 - pair.probability));
    }
    return;
  }
  const std::size_t n = query.labels.size();
  order.resize(n);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return query.labels[a] > query.labels[b]; });
  InterruptPace pace;
  for (std::size_t i = 0, lower = 0; i < n; ++i) {
    while (lower < n && query.labels[order[lower]] == query.labels[order[i]]) ++lower;
    pace.step(n - lower);
    for (std::size_t j = lower; j < n; ++j) edge(order[i], order[j], 1.0);
  }
}

double gap_of(const ForceQuery& query, std::size_t winner, std::size_t loser) {
  return std::clamp(query.scores[winner] - query.scores[loser], -kFarthest, kFarthest);
}

void collect_edges(const ForceQuery& query, std::vector<std::uint32_t>& order, CdnEdges& edges) {
  std::size_t count = 0;
  for_each_edge(query, order, [&](std::size_t, std::size_t, double) { ++count; });
  edges.resize(count);
  std::size_t e = 0;
  for_each_edge(query, order, [&](std::size_t i, std::size_t j, double v) {
    edges.winner[e] = static_cast<std::uint32_t>(i), edges.loser[e] = static_cast<std::uint32_t>(j);
    edges.gap[e] = gap_of(query, i, j), edges.weight[e++] = v;
  });
}

// Σ log(1 + e^{−w r}) over the edges, which is RankNet's cost: over labels it comes from where RankNet's does.
void independent(double w, bool mean, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const std::size_t n = query.labels.size();
  scratch.cdn.first.assign(n, 0.0), scratch.cdn.second.assign(n, 0.0);
  double *const force = scratch.cdn.first.data(), *const curvature = scratch.cdn.second.data();
  double weight = 0, cost = 0, on_w = 0;
  for_each_edge(query, scratch.order, [&](std::size_t i, std::size_t j, double v) {
    weight += v;
    if (!query.has_pairs && !sums.parameter_force) return;
    const double r = gap_of(query, i, j);
    const Pull pull = logistic_pull(r, w, 1.0);
    on_w += v * r * falling_logistic(w * r);
    if (!query.has_pairs) return;
    force[i] += v * pull.force, force[j] -= v * pull.force;
    curvature[i] += v * pull.curvature, curvature[j] += v * pull.curvature;
    cost += v * pull.cost;
  });
  if (!(weight > 0)) return;
  if (!query.has_pairs) {
    ForceSpec ranknet;
    ranknet.sigma = w;
    ranknet_force(ranknet, query, scratch, {force, sums.curvature ? curvature : nullptr, sums.cost ? &cost : nullptr});
  }
  const double divisor = mean ? weight : 1;
  for (std::size_t i = 0; i < n; ++i) {
    sums.force[i] += force[i] / divisor;
    if (sums.curvature) sums.curvature[i] += curvature[i] / divisor;
  }
  if (sums.cost) *sums.cost += cost / divisor;
  if (sums.parameter_force) sums.parameter_force[0] += on_w / divisor;
}

// Σ v v′ over ordered pairs of different edges.
double weight_of_pairs(const CdnEdges& edges) {
  double before = 0, total = 0;
  for (const double v : edges.weight) total += 2 * v * before, before += v;
  return total;
}

// The pair (e, f) of edges, added.
void add_pair(CdnEdges& edges, std::size_t e, std::size_t f, CdnAsked asked) {
  const double distance = edges.t[e] - edges.c[f];
  const CdnTerm term(distance);
  const double second = edges.rise[f] * term.rest;
  edges.first[e] += edges.weight[f] * term.q;
  edges.second[f] += edges.weight[e] * second;
  const double weight = edges.weight[e] * edges.weight[f];
  if (asked.cost) edges.cost += weight * (edges.c[f] + term.softplus(distance));
  if (!asked.curvature) return;
  edges.first_bend[e] += edges.weight[f] * term.q * term.rest;
  edges.second_bend[f] += edges.weight[e] * second * (term.q + term.rest * edges.fall[f]);
  const double both = weight * term.q * second;
  if (edges.winner[e] == edges.winner[f]) edges.shared[edges.winner[e]] += both;
  if (edges.loser[e] == edges.loser[f]) edges.shared[edges.loser[e]] += both;
  if (edges.winner[e] == edges.loser[f]) edges.shared[edges.winner[e]] -= both;
  if (edges.loser[e] == edges.winner[f]) edges.shared[edges.loser[e]] -= both;
}

// Each edge with `partners` others, drawn without one coming twice [Floyd's sample]; a function of the query and the
// draw alone.
void add_random_pairs(CdnEdges& edges, const ForceQuery& query, std::size_t partners, std::size_t draw,
                      CdnAsked asked) {
  const std::size_t others = edges.size() - 1;
  const std::uint64_t key = random_bits(query.seed, query.round, query.key, draw);
  std::vector<std::uint32_t> taken_by(others, UINT32_MAX);
  InterruptPace pace;
  for (std::uint32_t e = 0; e <= others; ++e) {
    pace.step(partners);
    const std::uint64_t of_edge = splitmix64(key ^ e);
    for (std::size_t last = others - partners; last < others; ++last) {
      auto pick = static_cast<std::size_t>((splitmix64(of_edge ^ last) >> 32) * (last + 1) >> 32);
      if (taken_by[pick] == e) pick = last;
      taken_by[pick] = e;
      add_pair(edges, e, pick + (pick >= e), asked);
    }
  }
}

// Forces, curvatures and slopes from the sums over partners.
void collect(const CdnEdges& edges, double w1, double w2, bool tied, double divisor, const ForceSums& sums) {
  double on_w1 = 0, on_w2 = 0;
  const double share = 1 / divisor;
  for (std::size_t e = 0; e < edges.size();) {
    const std::uint32_t winner = edges.winner[e];
    double lift = 0;  // most edges have the winner of the one before them
    for (; e < edges.size() && edges.winner[e] == winner; ++e) {
      const double v = share * edges.weight[e], pull = v * (w1 * edges.first[e] + w2 * edges.second[e]);
      lift += pull;
      sums.force[edges.loser[e]] -= pull;
      on_w1 += v * edges.gap[e] * edges.first[e];
      on_w2 += v * edges.gap[e] * edges.second[e];
    }
    sums.force[winner] += lift;
  }
  if (sums.cost) *sums.cost += edges.cost / divisor;
  if (sums.parameter_force) sums.parameter_force[0] += on_w1, sums.parameter_force[tied ? 0 : 1] += on_w2;
}

// ∂²C/∂s² of each document: its edges one by one, less what pairs of them have in common.
void collect_curvature(CdnEdges& edges, double w1, double w2, double divisor, double* curvature) {
  for (double& shared : edges.shared) shared *= -2 * w1 * w2;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const double bend = edges.weight[e] * (w1 * w1 * edges.first_bend[e] + w2 * w2 * edges.second_bend[e]);
    edges.shared[edges.winner[e]] += bend;
    edges.shared[edges.loser[e]] += bend;
  }
  for (std::size_t i = 0; i < edges.shared.size(); ++i) curvature[i] += std::max(edges.shared[i], 0.0) / divisor;
}

// c = log(1 + e^τ), rise and fall, from e^{−|τ|} in c. log(1 + f) is 2 artanh(f / (2 + f)), here by its series: what is
// called for every edge should not be a call.
PODIUM_INLINE void soften(CdnEdges& edges) {
  const std::size_t n = edges.size();
  const double* const tau = edges.tau.data();
  double *const c = edges.c.data(), *const rise = edges.rise.data(), *const fall = edges.fall.data();
  for (std::size_t e = 0; e < n; ++e) {
    const double f = c[e], z = f / (2 + f), square = z * z;
    double series = 1.0 / 33;  // of z from 0 to 1/3: the next term is below a unit in the last place
    for (int odd = 31; odd > 0; odd -= 2) series = series * square + 1.0 / odd;
    const double large = 1 / (1 + f), small = f * large;
    c[e] = (tau[e] > 0 ? tau[e] : 0.0) + 2 * z * series;
    rise[e] = tau[e] >= 0 ? large : small, fall[e] = tau[e] >= 0 ? small : large;
  }
}
void soften_portable(CdnEdges& edges) {
  soften(edges);
}
PODIUM_AVX2 void soften_avx2(CdnEdges& edges) {
  soften(edges);
}

void add_all_pairs(CdnEdges& edges, CdnMethod method, CdnAsked asked) {
  switch (method) {
    case CdnMethod::automatic:
      return edges.size() > kExactMost ? cdn_chebyshev(edges, asked) : cdn_exact(edges, asked);
    case CdnMethod::exact:
      return cdn_exact(edges, asked);
    case CdnMethod::chebyshev:
      return cdn_chebyshev(edges, asked);
  }
  unreachable();
}

}  // namespace

void CdnEdges::resize(std::size_t count) {
  winner.resize(count), loser.resize(count), gap.resize(count), weight.resize(count);
}

void CdnEdges::prepare(double w1, double w2, std::size_t documents, CdnAsked asked) {
  const std::size_t n = size();
  t.resize(n), tau.resize(n), c.resize(n), rise.resize(n), fall.resize(n);
  for (std::size_t e = 0; e < n; ++e) {
    t[e] = std::clamp(-w1 * gap[e], -kFarthest, kFarthest);
    tau[e] = std::clamp(-w2 * gap[e], -kFarthest, kFarthest);
    c[e] = -std::fabs(tau[e]);
  }
  exponentials({c.data(), n});
  (has_avx2() ? soften_avx2 : soften_portable)(*this);
  first.assign(n, 0.0), second.assign(n, 0.0);
  if (asked.curvature) first_bend.assign(n, 0.0), second_bend.assign(n, 0.0);
  shared.assign(documents, 0.0);
  cost = 0;
}

CdnIncidence::CdnIncidence(const CdnEdges& edges, std::size_t documents)
    : begin(documents + 2, 0), edge(2 * edges.size()), sign(2 * edges.size()) {
  for (std::size_t e = 0; e < edges.size(); ++e) ++begin[edges.winner[e] + 2], ++begin[edges.loser[e] + 2];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  for (std::uint32_t e = 0; e < edges.size(); ++e) {
    const auto wins = begin[edges.winner[e] + 1]++, loses = begin[edges.loser[e] + 1]++;
    edge[wins] = edge[loses] = e;
    sign[wins] = 1, sign[loses] = -1;
  }
}

ForceParameters CdnSpec::parameters() const {
  std::vector<ForceParameter> out{{"w1", ParameterKind::positive}};
  if (has_w2()) out.push_back({"w2", ParameterKind::positive});
  return ForceParameters(std::move(out));
}

namespace {

// `parameters` of the query take the place of the force's own values.
void cdn_force(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const ForceSpec& spec = force.spec();
  const CdnSpec& cdn = spec.cdn;
  const std::span<const double> values =
      query.parameters.empty() ? std::span<const double>(cdn.values) : query.parameters;
  const double w1 = values[0], w2 = cdn.has_w2() ? values[1] : w1;
  CdnEdges& edges = scratch.cdn;
  bool all_pairs = true;
  switch (cdn.topology) {
    case CdnTopology::independent:
      return independent(w1, cdn.mean, query, scratch, sums);
    case CdnTopology::full:
      break;
    case CdnTopology::random:
      all_pairs = false;
      break;
  }
  collect_edges(query, scratch.order, edges);
  if (edges.size() < 2) return;
  const CdnAsked asked{sums.curvature != nullptr, sums.cost != nullptr};
  check_interrupt();
  edges.prepare(w1, w2, query.labels.size(), asked);
  double divisor = cdn.mean ? weight_of_pairs(edges) : 1;
  if (!(divisor > 0)) return;
  const std::size_t others = edges.size() - 1;
  if (all_pairs || cdn.partners >= others) {
    add_all_pairs(edges, cdn.method, asked);
  } else {
    for (std::size_t draw = 0; draw < spec.draws; ++draw) add_random_pairs(edges, query, cdn.partners, draw, asked);
    if (cdn.mean) divisor *= static_cast<double>(cdn.partners) / static_cast<double>(others);
    divisor *= static_cast<double>(spec.draws);
  }
  check_interrupt();
  collect(edges, w1, w2, cdn.tied, divisor, sums);
  if (asked.curvature) collect_curvature(edges, w1, w2, divisor, sums.curvature);
}

ForceParameters network_parameters(const ForceSpec& spec) {
  return spec.cdn.parameters();
}

bool network_learns(const ForceSpec& spec) {
  return spec.cdn.learns;
}

constexpr ForceKernel rows[] = {
    {.name = "structrank", .compute = cdn_force, .parameters = network_parameters, .learns = network_learns}};

}  // namespace

std::span<const ForceKernel> network_forces() {
  return rows;
}

}  // namespace podium
