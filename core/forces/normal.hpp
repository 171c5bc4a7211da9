// The normal distribution in one and in two dimensions, accurate far out in its tails.
//
// φ is the density of a standard normal variable, Φ its distribution function and Q = 1 − Φ. Φ₂(x, y; ρ) is the chance
// that X ≤ x and Y ≤ y, for two standard normal variables with correlation ρ.
#pragma once

namespace podium {

// Q(z) / φ(z) for z ≥ 0, the Mills ratio.
double mills_ratio(double z);

// −log Φ(x), minus its slope (which is φ/Φ) and its second derivative.
struct Probit {
  double value, slope, bend;
  explicit Probit(double x);
};

// −log Φ₂(x, y; ρ) and its derivatives.
struct BivariateProbit {
  double value;
  double x, y, rho;   // minus the slopes, each at least 0
  double xx, yy, xy;  // second derivatives; xy is at most 0
};

// Φ₂ for one correlation, at least 0 and below 1. Places x and y of any finite size up to 1e100.
class BivariateNormal {
 public:
  explicit BivariateNormal(double rho);
  double rho() const { return rho_; }
  BivariateProbit operator()(double x, double y) const;

 private:
  BivariateProbit lower(double h, double k) const;
  BivariateProbit upper(double h, double k) const;

  double rho_, rest_;  // rest = √(1 − ρ²)
};

}  // namespace podium
