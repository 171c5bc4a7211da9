#include "forces/normal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include "exponentials.hpp"

namespace podium {
namespace {

constexpr double kLogRootTau = 0.91893853320467274178;  // log √(2π)
constexpr double kRootHalfPi = 1.2533141373155002512;   // √(π/2)
constexpr double kFar = 3e3;  // beyond this, second derivatives are those of the limit, to 1e−7
constexpr double kTail = 2.5;

double density(double x) {
  return std::exp(-0.5 * x * x - kLogRootTau);
}

template <std::size_t kCount>
double ratio(double t, const double (&above)[kCount], const double (&below)[kCount]) {
  double p = above[0], q = below[0];
  for (std::size_t k = 1; k < kCount; ++k) p = p * t + above[k], q = q * t + below[k];
  return p / q;
}

// e^{t²} erfc(t) for t ≥ 0, by rational functions that are accurate to the last digits. [Cody 1969]
double scaled_erfc(double t) {
  if (t <= 0.46875) {
    static constexpr double above[] = {1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2,
                                       3.77485237685302021e2, 3.20937758913846947e3};
    static constexpr double below[] = {1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
                                       2.84423683343917062e3};
    return std::exp(t * t) * (1 - t * ratio(t * t, above, below));
  }
  if (t <= 4) {
    static constexpr double above[] = {2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0,
                                       6.61191906371416295e1,  2.98635138197400131e2,  8.81952221241769090e2,
                                       1.71204761263407058e3,  2.05107837782607147e3,  1.23033935479799725e3};
    static constexpr double below[] = {1,
                                       1.57449261107098347e1,
                                       1.17693950891312499e2,
                                       5.37181101862009858e2,
                                       1.62138957456669019e3,
                                       3.29079923573345963e3,
                                       4.36261909014324716e3,
                                       3.43936767414372164e3,
                                       1.23033935480374942e3};
    return ratio(t, above, below);
  }
  static constexpr double above[] = {1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
                                     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4};
  static constexpr double below[] = {1,
                                     2.56852019228982242e0,
                                     1.87295284992346725e0,
                                     5.27905102951428412e-1,
                                     6.05183413124413191e-2,
                                     2.33520497626869185e-3};
  const double square = 1 / (t * t);
  return (std::numbers::inv_sqrtpi - square * ratio(square, above, below)) / t;
}

// 1/R(z) − z, where R is the Mills ratio, by its continued fraction, for large z.
double excess(double z) {
  double rest = z;
  for (int k = 14; k > 1; --k) rest = z + k / rest;
  return 1 / rest;
}

// ∫ from 0 to τ of φ(pv) / (1 + v²) dv, for τ ≤ 1 and pτ ≤ 2.5, by 12 Gauss–Legendre nodes.
double short_integral(double p, double tau) {
  static constexpr double node[] = {0.009219682876640375, 0.04794137181476257, 0.11504866290284765, 0.2063410228566913,
                                    0.3160842505009099,   0.43738329574426554, 0.5626167042557345,  0.6839157494990901,
                                    0.7936589771433087,   0.8849513370971523,  0.9520586281852375,  0.9907803171233597};
  static constexpr double weight[] = {0.023587668193255914, 0.05346966299765921, 0.08003916427167311,
                                      0.10158371336153296,  0.1167462682691774,  0.12457352290670139,
                                      0.12457352290670139,  0.1167462682691774,  0.10158371336153296,
                                      0.08003916427167311,  0.05346966299765921, 0.023587668193255914};
  double values[12], total = 0;
  for (std::size_t k = 0; k < 12; ++k) values[k] = -0.5 * (p * tau * node[k]) * (p * tau * node[k]) - kLogRootTau;
  exponentials(values);
  for (std::size_t k = 0; k < 12; ++k) total += weight[k] * values[k] / (1 + (tau * node[k]) * (tau * node[k]));
  return tau * total;
}

// M(p, q) = ∫ from q on of p / (p² + u²) φ(u) du / φ(q), for q ≥ 2.5: with u² = q² + 2z it is an integral of e^{−z}
// times a function that is smooth where z ≥ 0. By the first 24 of 36 Gauss–Laguerre nodes; the others have weights
// below 1e−18.
double long_integral(double p, double q) {
  static constexpr double twice_node[] = {
      0.07922641281720483, 0.4176005713087016, 1.0270215510703804, 1.9087623061582868, 3.0644984507876587,
      4.496431635708816,   6.207322980996044,  8.200525091398022,  10.480020217509347, 13.05046666093535,
      15.917255017997524,  19.086576070556994, 22.565502573325293, 26.36208780049743,  30.48548453312066,
      34.94608926282984,   39.75571786615992,  44.92782102878225,  50.47775051460465,  56.42309135376463,
      62.78408074842983,   69.58414289600796,  76.85058152960245,  84.61549134415286};
  static constexpr double weight[] = {
      0.09772074843126671,   0.19221751311006713,    0.22300334469787642,    0.19607084692947027,
      0.13972138965259445,   0.08293386566455138,    0.0415504620590672,     0.017691908088602572,
      0.006424205254348868,  0.0019920097555308036,  0.0005274125390015154,  0.00011909282938083885,
      2.288738819700491e-05, 3.7327718559926122e-06, 5.147593556930959e-07,  5.975678522639915e-08,
      5.808893359619392e-09, 4.699410135049937e-10,  3.1413614203958664e-11, 1.720657768791894e-12,
      7.648272252595856e-14, 2.7278333315571666e-15, 7.70390182665101e-17,   1.696146717146794e-18};
  const double squares = p * p + q * q;
  double sums[4] = {0, 0, 0, 0};
  for (std::size_t k = 0; k < 24; k += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const double z = twice_node[k + lane];
      sums[lane] += weight[k + lane] / ((squares + z) * std::sqrt(q * q + z));
    }
  }
  return p * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// M(p, q) for p and q at least 0, not both 0. φ(p) φ(q) M(p, q) is the chance of the part of the quadrant X > p, Y > q
// of two independent variables that lies on one side of the ray through its corner.
double wedge(double p, double q) {
  if (q >= kTail) return long_integral(p, q);
  if (q <= p) return (0.5 * mills_ratio(p) - short_integral(p, q / p)) / density(q);
  return mills_ratio(p) * mills_ratio(q) - (0.5 * mills_ratio(q) - short_integral(q, p / q)) / density(p);
}

}  // namespace

double mills_ratio(double z) {
  return kRootHalfPi * scaled_erfc(z * (0.5 * std::numbers::sqrt2));
}

Probit::Probit(double x) {
  if (x >= 0) {
    const double phi = density(x), beyond = phi * mills_ratio(x);
    value = -std::log1p(-beyond);
    slope = phi / (1 - beyond);
    bend = slope * (slope + x);
    return;
  }
  const double ratio = mills_ratio(-x);
  value = 0.5 * x * x + kLogRootTau - std::log(ratio);
  slope = 1 / ratio;
  bend = slope * (x < -10 ? excess(-x) : slope + x);
}

BivariateNormal::BivariateNormal(double rho) : rho_(rho), rest_(std::sqrt((1 - rho) * (1 + rho))) {}

BivariateProbit BivariateNormal::operator()(double x, double y) const {
  const bool turned = x > y;
  if (turned) std::swap(x, y);
  BivariateProbit out = x < 0 ? lower(-x, -y) : upper(x, y);
  const double steepest = 1 / (rest_ * rest_);
  if (-x > kFar) {  // X stands all but fixed at x, and Y is normal around ρx
    const double bend = Probit((y - rho_ * x) / rest_).bend;
    out.xx = 1 + rho_ * rho_ * steepest * bend, out.yy = steepest * bend, out.xy = -rho_ * steepest * bend;
  } else {
    out.xx = std::clamp(out.x * (out.x + x) + rho_ * out.rho, 0.0, steepest);
    out.yy = std::clamp(out.y * (out.y + y) + rho_ * out.rho, 0.0, steepest);
    out.xy = std::clamp(out.x * out.y - out.rho, -std::sqrt(out.xx * out.yy), 0.0);
  }
  if (turned) std::swap(out.x, out.y), std::swap(out.xx, out.yy);
  return out;
}

// P(X > h, Y > k) for h > 0 and h ≥ k. The quadrant is cut by the ray from the origin through its corner, and each part
// is one integral. With a and b the gaps in the other variable at the corner, φ(h) φ(a) = φ(k) φ(b), so that nothing is
// computed from logarithms of small numbers.
BivariateProbit BivariateNormal::lower(double h, double k) const {
  const double a = (k - rho_ * h) / rest_, b = (h - rho_ * k) / rest_;
  BivariateProbit out{};
  if (a >= 0) {
    const double sum = wedge(h, a) + wedge(k, b);
    out.value = 0.5 * h * h + 0.5 * a * a + 2 * kLogRootTau - std::log(sum);
    out.x = mills_ratio(a) / sum, out.y = mills_ratio(b) / sum, out.rho = 1 / (rest_ * sum);
    return out;
  }
  const double phi = density(a);
  double sum = mills_ratio(h);
  if (phi > 0) sum += phi * ((k < 0 ? -wedge(-k, b) : wedge(k, b)) - wedge(h, -a));
  out.value = 0.5 * h * h + kLogRootTau - std::log(sum);
  out.x = (1 - phi * mills_ratio(-a)) / sum, out.y = phi * mills_ratio(b) / sum, out.rho = phi / (rest_ * sum);
  return out;
}

// P(X ≤ x, Y ≤ y) for y ≥ x ≥ 0, from the chances that X or Y lies beyond.
BivariateProbit BivariateNormal::upper(double x, double y) const {
  const double phi_x = density(x), phi_y = density(y), u = (y - rho_ * x) / rest_, v = (x - rho_ * y) / rest_;
  const double beyond_x = phi_x * mills_ratio(x), beyond_y = phi_y * mills_ratio(y);
  double both = 0.25 + std::asin(rho_) / (2 * std::numbers::pi);  // at the origin
  if (y > 0) {
    const double a = v, phi = density(a);  // as in lower(), with h = y and k = x
    both = a >= 0 ? phi_y * phi * (wedge(y, a) + wedge(x, u))
                  : phi_y * (mills_ratio(y) + phi * (wedge(x, u) - wedge(y, -a)));
  }
  const double outside = beyond_x + beyond_y - both, inside = 1 - outside;
  const auto below = [](double z) { return z >= 0 ? 1 - density(z) * mills_ratio(z) : density(z) * mills_ratio(-z); };
  BivariateProbit out{};
  out.value = -std::log1p(-outside);
  out.x = phi_x * below(u) / inside, out.y = phi_y * below(v) / inside;
  out.rho = phi_x * density(u) / (rest_ * inside);
  return out;
}

}  // namespace podium
