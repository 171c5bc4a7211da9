#include <numeric>

#include "dispatch.hpp"
#include "exponentials.hpp"
#include "forces/cdn.hpp"
#include "forces/cdn_preferences.hpp"

namespace podium {
namespace {

double bounded(double place) {
  return std::clamp(place, -CdnEdges::kFarthest, CdnEdges::kFarthest);
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

}  // namespace

ForceParameters CdnSpec::parameters() const {
  std::vector<ForceParameter> out;
  for (std::size_t k = 0; k < components; ++k) {
    out.push_back({"w1", ParameterKind::positive});
    if (has_w2()) out.push_back({"w2", ParameterKind::positive});
    if (has_rho()) out.push_back({"rho", ParameterKind::correlation});
  }
  for (std::size_t f = 0; f < noise_inputs; ++f) out.push_back({"noise", ParameterKind::real});
  return ForceParameters(std::move(out));
}

CdnComponent CdnSpec::component(std::span<const double> given, std::size_t number) const {
  const std::size_t at = number * parameters_of_each();
  const double w1 = given[at];
  return {w1, has_w2() ? given[at + 1] : w1, has_rho() ? given[at + (has_w2() ? 2 : 1)] : 0.0, at};
}

void CdnEdges::resize(std::size_t count) {
  winner.resize(count), loser.resize(count), gap.resize(count), weight.resize(count), lever.resize(count);
}

void CdnEdges::collect(const ForceQuery& query, std::span<const double> noise, std::vector<std::uint32_t>& order) {
  std::size_t count = 0;
  for_each_edge(query, order, [&](std::size_t, std::size_t, double) { ++count; });
  resize(count);
  const bool noisy = has_noise(query, noise);
  if (noisy) find_variances(query, noise);
  std::size_t e = 0;
  for_each_edge(query, order, [&](std::size_t i, std::size_t j, double v) {
    winner[e] = static_cast<std::uint32_t>(i), loser[e] = static_cast<std::uint32_t>(j);
    const double slope = noisy ? 1 / std::sqrt(0.5 * (variance[i] + variance[j])) : 1.0;
    gap[e] = bounded((query.scores[i] - query.scores[j]) * slope);
    weight[e] = v, lever[e] = v * slope;
    ++e;
  });
}

void CdnEdges::find_variances(const ForceQuery& query, std::span<const double> noise) {
  const std::size_t n = query.labels.size();
  variance.assign(n, 1.0), noise_moves.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double exponent = noise_exponent(query, noise, i);
    noise_moves[i] = std::fabs(exponent) < kMostNoise;
    const double scale = query.noise_scales.empty() ? 1.0 : query.noise_scales[i];
    variance[i] = scale * scale * std::exp(2 * std::clamp(exponent, -kMostNoise, kMostNoise));
  }
}

void CdnEdges::prepare(const CdnSpec& spec, const CdnComponent& component, std::size_t documents, CdnAsked asked) {
  const std::size_t n = size();
  t.resize(n), tau.resize(n);
  for (std::size_t e = 0; e < n; ++e) {
    t[e] = bounded(-component.w1 * gap[e]), tau[e] = bounded(-component.w2 * gap[e]);
  }
  normal.reset();
  switch (spec.function) {
    case CdnFunction::sigmoid:
      prepare_sigmoid();
      break;
    case CdnFunction::gaussian:
      normal.emplace(component.rho);
      break;
  }
  first.assign(n, 0.0), second.assign(n, 0.0);
  if (asked.curvature) first_bend.assign(n, 0.0), second_bend.assign(n, 0.0);
  shared.assign(documents, 0.0);
  cost = rho = 0;
}

void CdnEdges::prepare_sigmoid() {
  const std::size_t n = size();
  c.resize(n), rise.resize(n), fall.resize(n);
  for (std::size_t e = 0; e < n; ++e) c[e] = -std::fabs(tau[e]);
  exponentials({c.data(), n});
  (has_avx2() ? soften_avx2 : soften_portable)(*this);
}

CdnPair CdnEdges::pair(std::size_t e, std::size_t f) const {
  if (normal) {
    const BivariateProbit found = (*normal)(-t[e], -tau[f]);
    return {found.value, found.x, found.y, found.rho, found.xx, found.yy, -found.xy};
  }
  const double distance = t[e] - c[f];
  const CdnTerm term(distance);
  const double q = term.q, other = rise[f] * term.rest;
  return {c[f] + term.softplus(distance), q, other, 0.0, q * term.rest, other * (q + term.rest * fall[f]), q * other};
}

void CdnEdges::add(std::size_t e, std::size_t f, CdnAsked asked, double times) {
  const CdnPair found = pair(e, f);
  const double v = times * weight[e], other = times * weight[f], both = v * weight[f];
  first[e] += other * found.first;
  second[f] += v * found.second;
  rho += both * found.rho;
  if (asked.cost) cost += both * found.value;
  if (!asked.curvature) return;
  first_bend[e] += other * found.first_bend;
  second_bend[f] += v * found.second_bend;
  add_shared(e, f, times * found.cross);
}

void CdnEdges::add_shared(std::size_t e, std::size_t f, double cross) {
  const double both = lever[e] * lever[f] * cross;
  if (winner[e] == winner[f]) shared[winner[e]] += both;
  if (loser[e] == loser[f]) shared[loser[e]] += both;
  if (winner[e] == loser[f]) shared[winner[e]] -= both;
  if (loser[e] == winner[f]) shared[loser[e]] -= both;
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

}  // namespace podium
