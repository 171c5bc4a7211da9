#include "forces/cdn.hpp"

#include "forces/cdn_preferences.hpp"
#include "forces/kernels.hpp"
#include "forces/potentials.hpp"
#include "interrupt.hpp"
#include "random.hpp"
#include "unreachable.hpp"

namespace podium {
namespace {

// Edges; with more, interpolation takes less time than term by term. The cells of a gaussian serve all queries of a
// call, so that it gains early.
constexpr std::size_t kExactSigmoid = 128, kExactGaussian = 24;

// Σ v v′ over ordered pairs of different edges.
double weight_of_pairs(const CdnEdges& edges) {
  double before = 0, total = 0;
  for (const double v : edges.weight) total += 2 * v * before, before += v;
  return total;
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
      edges.add(e, pick + (pick >= e), asked);
    }
  }
}

// Pairs of edges that the user gave. Returns their weight.
double add_given_pairs(CdnEdges& edges, std::span<const GivenJoin> joins, CdnAsked asked) {
  double weight = 0;
  InterruptPace pace;
  for (const GivenJoin& join : joins) {
    pace.step(64);
    edges.add(join.first, join.second, asked);
    weight += edges.weight[join.first] * edges.weight[join.second];
  }
  return weight;
}

// Each edge alone. Returns their weight.
double add_alone(CdnEdges& edges, const CdnSpec& spec, CdnAsked asked) {
  double weight = 0;
  InterruptPace pace;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    pace.step(16);
    weight += edges.weight[e];
    double value = 0, bend = 0;
    switch (spec.function) {
      case CdnFunction::sigmoid: {
        const CdnTerm term(edges.t[e]);
        value = term.softplus(edges.t[e]), edges.first[e] = term.q, bend = term.q * term.rest;
        break;
      }
      case CdnFunction::gaussian: {
        const Probit probit(-edges.t[e]);
        value = probit.value, edges.first[e] = probit.slope, bend = probit.bend;
        break;
      }
    }
    if (asked.cost) edges.cost += edges.weight[e] * value;
    if (asked.curvature) edges.first_bend[e] = bend;
  }
  return weight;
}

// The number of preferences of labels.
double count_preferences(std::span<const double> labels, std::vector<double>& sorted) {
  sorted.assign(labels.begin(), labels.end());
  std::sort(sorted.begin(), sorted.end());
  double count = 0;
  for (std::size_t i = 0, equal = 0; i < sorted.size(); ++i) {
    if (sorted[i] != sorted[equal]) equal = i;
    count += static_cast<double>(equal);
  }
  return count;
}

// Independent sigmoids over labels are RankNet, and come from where RankNet does: no preference is listed.
void independent_sigmoids(const CdnSpec& spec, std::span<const double> values, const ForceQuery& query,
                          ForceScratch& scratch, const ForceSums& sums) {
  const std::size_t n = query.labels.size();
  std::vector<double> on_w(spec.components, 0.0);
  const bool visits = sums.parameter_force || !query.weights.empty();
  double weight = visits ? 0 : count_preferences(query.labels, scratch.label);
  if (visits) {
    for_each_edge(query, scratch.order, [&](std::size_t i, std::size_t j, double v) {
      weight += v;
      if (!sums.parameter_force) return;
      const double gap = std::clamp(query.scores[i] - query.scores[j], -CdnEdges::kFarthest, CdnEdges::kFarthest);
      for (std::size_t k = 0; k < spec.components; ++k) on_w[k] += v * gap * falling_logistic(values[k] * gap);
    });
  }
  if (!(weight > 0)) return;
  const double divisor = spec.mean ? weight : 1;
  for (std::size_t k = 0; k < spec.components; ++k) {
    scratch.cdn.first.assign(n, 0.0), scratch.cdn.second.assign(n, 0.0);
    double *const force = scratch.cdn.first.data(), *const curvature = scratch.cdn.second.data(), cost = 0;
    ForceSpec ranknet;
    ranknet.sigma = values[k];
    ranknet_force(ranknet, query, scratch, {force, sums.curvature ? curvature : nullptr, sums.cost ? &cost : nullptr});
    for (std::size_t i = 0; i < n; ++i) {
      sums.force[i] += force[i] / divisor;
      if (sums.curvature) sums.curvature[i] += curvature[i] / divisor;
    }
    if (sums.cost) *sums.cost += cost / divisor;
    if (sums.parameter_force) sums.parameter_force[k] += on_w[k] / divisor;
  }
}

// The sums over partners of one component. Returns what the cost is divided by, 0 where nothing meets.
double add_component(CdnEdges& edges, const ForceSpec& spec, const CdnComponent& component, const ForceQuery& query,
                     ForceScratch& scratch, CdnAsked asked) {
  const CdnSpec& cdn = spec.cdn;
  const std::size_t others = edges.size() - 1;
  double weight = 0;
  switch (cdn.topology) {
    case CdnTopology::independent:
      weight = add_alone(edges, cdn, asked);
      break;
    case CdnTopology::shared:
      weight = cdn_shared(edges, cdn, component, asked, scratch.cdn_part, scratch.cells);
      break;
    case CdnTopology::given:
      weight = add_given_pairs(edges, query.joins, asked);
      break;
    case CdnTopology::random:
      if (cdn.partners < others) {
        for (std::size_t draw = 0; draw < spec.draws; ++draw) add_random_pairs(edges, query, cdn.partners, draw, asked);
        weight = weight_of_pairs(edges) * static_cast<double>(cdn.partners) / static_cast<double>(others);
        return (cdn.mean ? weight : 1) * static_cast<double>(spec.draws);
      }
      [[fallthrough]];
    case CdnTopology::full:
      if (others > 0) cdn_all_pairs(edges, asked, cdn.method, scratch.cells);
      weight = weight_of_pairs(edges);
      break;
    case CdnTopology::winner:
      unreachable();
  }
  return weight > 0 && !cdn.mean ? 1 : weight;
}

// ∂²C/∂s² of each document: its edges one by one, less what pairs of them have in common.
void collect_curvature(CdnEdges& edges, const CdnComponent& component, double divisor, double* curvature) {
  const double w1 = component.w1, w2 = component.w2;
  for (double& shared : edges.shared) shared *= -2 * w1 * w2;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const double slope = edges.lever[e] / edges.weight[e];
    const double bend = edges.lever[e] * slope * (w1 * w1 * edges.first_bend[e] + w2 * w2 * edges.second_bend[e]);
    edges.shared[edges.winner[e]] += bend;
    edges.shared[edges.loser[e]] += bend;
  }
  for (std::size_t i = 0; i < edges.shared.size(); ++i) curvature[i] += std::max(edges.shared[i], 0.0) / divisor;
}

// The force on the weights of the noise: a gap falls as the scale √(½(σ² + σ′²)) that divides it rises.
void collect_noise(const CdnEdges& edges, const CdnSpec& spec, const CdnComponent& component, const ForceQuery& query,
                   double share, double* parameter_force) {
  const std::size_t count = spec.noise_inputs;
  double* const out = parameter_force + spec.components * spec.parameters_of_each();
  if (count == 0) return;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const double sum = component.w1 * edges.first[e] + component.w2 * edges.second[e];
    const std::size_t i = edges.winner[e], j = edges.loser[e];
    const double pull = share * edges.weight[e] * edges.gap[e] * sum / (edges.variance[i] + edges.variance[j]);
    for (const std::size_t document : {i, j}) {
      if (!edges.noise_moves[document]) continue;
      for (std::size_t f = 0; f < count; ++f) {
        out[f] -= pull * edges.variance[document] * query.noise_inputs[document * count + f];
      }
    }
  }
}

}  // namespace

void cdn_all_pairs(CdnEdges& edges, CdnAsked asked, CdnMethod method, CdnCells& cells) {
  const bool many = edges.size() > (edges.normal ? kExactGaussian : kExactSigmoid);
  const bool interpolates = method == CdnMethod::chebyshev || (method == CdnMethod::automatic && many);
  if (!interpolates) return cdn_exact(edges, asked);
  edges.normal ? cdn_smooth(edges, asked, cells) : cdn_chebyshev(edges, asked);
}

void cdn_collect(const CdnEdges& edges, const CdnSpec& spec, const CdnComponent& component, const ForceQuery& query,
                 double divisor, const ForceSums& sums) {
  const double w1 = component.w1, w2 = component.w2, share = 1 / divisor;
  double on_w1 = 0, on_w2 = 0;
  for (std::size_t e = 0; e < edges.size();) {
    const std::uint32_t winner = edges.winner[e];
    double lift = 0;  // most edges have the winner of the one before them
    for (; e < edges.size() && edges.winner[e] == winner; ++e) {
      const double sum = w1 * edges.first[e] + w2 * edges.second[e], pull = share * edges.lever[e] * sum;
      lift += pull;
      sums.force[edges.loser[e]] -= pull;
      on_w1 += share * edges.weight[e] * edges.gap[e] * edges.first[e];
      on_w2 += share * edges.weight[e] * edges.gap[e] * edges.second[e];
    }
    sums.force[winner] += lift;
  }
  if (sums.cost) *sums.cost += share * edges.cost;
  if (!sums.parameter_force) return;
  double* const own = sums.parameter_force + component.first_parameter;
  own[0] += on_w1;
  own[spec.has_w2() ? 1 : 0] += on_w2;
  if (spec.has_rho()) own[spec.has_w2() ? 2 : 1] += share * edges.rho;
  collect_noise(edges, spec, component, query, share, sums.parameter_force);
}

namespace {

// `parameters` of the query take the place of the force's own values.
void cdn_force(const Force& force, const ForceQuery& query, ForceScratch& scratch, const ForceSums& sums) {
  const ForceSpec& spec = force.spec();
  const CdnSpec& cdn = spec.cdn;
  const auto values = query.parameters.empty() ? std::span<const double>(cdn.values) : query.parameters;
  const auto noise = values.subspan(cdn.components * cdn.parameters_of_each());
  const bool plain = !query.has_pairs && !has_noise(query, noise);
  if (plain && cdn.topology == CdnTopology::independent && cdn.function == CdnFunction::sigmoid) {
    return independent_sigmoids(cdn, values, query, scratch, sums);
  }
  if (cdn.topology == CdnTopology::winner) return cdn_winner(cdn, values, query, scratch, sums);
  CdnEdges& edges = scratch.cdn;
  edges.collect(query, noise, scratch.order);
  if (edges.size() == 0) return;
  const CdnAsked asked{sums.curvature != nullptr, sums.cost != nullptr};
  for (std::size_t k = 0; k < cdn.components; ++k) {
    check_interrupt();
    const CdnComponent component = cdn.component(values, k);
    edges.prepare(cdn, component, query.labels.size(), asked);
    const double divisor = add_component(edges, spec, component, query, scratch, asked);
    if (!(divisor > 0)) return;
    check_interrupt();
    cdn_collect(edges, cdn, component, query, divisor, sums);
    if (asked.curvature) collect_curvature(edges, component, divisor, sums.curvature);
  }
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
