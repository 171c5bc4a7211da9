#include "forces/force_parameters.hpp"

#include "forces/potentials.hpp"
#include "unreachable.hpp"

namespace podium {
namespace {

double bounded(double free) {
  return std::clamp(free, -ForceParameters::kFarthest, ForceParameters::kFarthest);
}

// The slope of e^{bounded(free)}.
double exponential_slope(double free) {
  return std::fabs(free) < ForceParameters::kFarthest ? std::exp(free) : 0.0;
}

}  // namespace

void ForceParameters::to_values(const double* free, double* values) const {
  for (std::size_t k = 0; k < size(); ++k) {
    switch (parameters_[k].kind) {
      case ParameterKind::threshold: {
        const bool first = k == 0 || parameters_[k - 1].kind != ParameterKind::threshold;
        values[k] = first ? free[k] : values[k - 1] + std::exp(bounded(free[k]));
        break;
      }
      case ParameterKind::positive:
        values[k] = std::exp(bounded(free[k]));
        break;
      case ParameterKind::correlation:
        values[k] = kMostCorrelation * falling_logistic(-bounded(free[k]));
        break;
      case ParameterKind::real:
        values[k] = free[k];
        break;
    }
  }
}

void ForceParameters::to_free(const double* values, double* free) const {
  const double least = std::exp(-kFarthest);
  for (std::size_t k = 0; k < size(); ++k) {
    switch (parameters_[k].kind) {
      case ParameterKind::threshold: {
        const bool first = k == 0 || parameters_[k - 1].kind != ParameterKind::threshold;
        free[k] = first ? values[k] : std::log(std::max(values[k] - values[k - 1], least));
        break;
      }
      case ParameterKind::positive:
        free[k] = bounded(std::log(std::max(values[k], least)));
        break;
      case ParameterKind::correlation: {
        const double share = values[k] / kMostCorrelation;
        free[k] = share >= 1 ? kFarthest : bounded(std::log(std::max(share, least)) - std::log1p(-share));
        break;
      }
      case ParameterKind::real:
        free[k] = values[k];
        break;
    }
  }
}

void ForceParameters::add_free_force(const double* free, const double* force, double* out) const {
  double above = 0;  // on this threshold and all above it, which move with it
  for (std::size_t k = size(); k-- > 0;) {
    switch (parameters_[k].kind) {
      case ParameterKind::threshold: {
        const bool first = k == 0 || parameters_[k - 1].kind != ParameterKind::threshold;
        above += force[k];
        out[k] += first ? above : above * exponential_slope(free[k]);
        if (first) above = 0;
        break;
      }
      case ParameterKind::positive:
        out[k] += force[k] * exponential_slope(free[k]);
        break;
      case ParameterKind::correlation: {
        const double share = falling_logistic(-bounded(free[k]));
        const double slope = std::fabs(free[k]) < kFarthest ? kMostCorrelation * share * (1 - share) : 0.0;
        out[k] += force[k] * slope;
        break;
      }
      case ParameterKind::real:
        out[k] += force[k];
        break;
    }
  }
}

}  // namespace podium
