// A cumulative distribution network over the preferences of a query. [StructRank, NIPS 2008]
//
// A preference (edge) e says that one document should rank above another; r_e is the gap of their scores and v_e its
// weight. The cost is C = Σ v_e v_e′ ℓ(x, y) over ordered pairs of edges that meet, where x = w₁ r_e and y = w₂ r_e′
// and −ℓ is the logarithm of a distribution function of two variables:
//
//   sigmoid   ℓ = log(1 + e^{−x} + e^{−y})
//   gaussian  ℓ = −log Φ₂(x, y; ρ)
//
// Several such functions at once, the components, each have parameters of their own, and their costs are added.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "forces/force_parameters.hpp"
#include "forces/normal.hpp"

namespace podium {

// Which preferences meet: all; none; each with partners that are drawn; those that share a document; all preferences of
// one winner at once, in one sigmoid of many variables; or pairs of preferences that are given.
enum class CdnTopology { full, independent, random, shared, winner, given };
enum class CdnFunction { sigmoid, gaussian };
enum class CdnMethod { automatic, exact, chebyshev };

// The parameters of one function.
struct CdnComponent {
  double w1, w2, rho;
  std::size_t first_parameter;  // where they stand among all parameters
};

struct CdnSpec {
  CdnTopology topology = CdnTopology::full;
  CdnFunction function = CdnFunction::sigmoid;
  std::size_t components = 1;
  bool tied = false;           // w₂ is w₁
  bool learns = true;          // whether gradient steps move the parameters
  std::vector<double> values;  // of the parameters, where a call gives none
  std::size_t partners = 5;    // random: of each edge, in each draw
  bool mean = true;            // cost divided by the weight of its terms; else their plain sum
  CdnMethod method = CdnMethod::automatic;
  std::size_t noise_inputs = 0;  // numbers of a document that its noise is learned from

  // Whether two preferences meet in a function of both.
  bool is_bivariate() const { return topology != CdnTopology::independent && topology != CdnTopology::winner; }
  bool has_w2() const { return is_bivariate() && !tied; }
  bool has_rho() const { return is_bivariate() && function == CdnFunction::gaussian; }
  std::size_t parameters_of_each() const { return 1 + (has_w2() ? 1 : 0) + (has_rho() ? 1 : 0); }
  // w1, w2, rho of one component after the other, as far as there are such; then a weight for each input of the noise.
  ForceParameters parameters() const;
  CdnComponent component(std::span<const double> values, std::size_t number) const;
};

struct ForceQuery;
struct ForceScratch;
struct ForceSums;
class CdnCells;

struct CdnAsked {
  bool curvature = false, cost = false;
};

// ℓ of one pair of edges. `first` and `second` are minus its slopes in x and y, `rho` minus its slope in ρ; then its
// second derivatives, where `cross` is minus the mixed one. None of them is negative.
struct CdnPair {
  double value, first, second, rho, first_bend, second_bend, cross;
};

// The preferences of one query, and what the sums over partners gave for each.
struct CdnEdges {
  static constexpr double kFarthest = 1e100;  // gaps and places beyond this count as this, so that no product overflows

  std::vector<std::uint32_t> winner, loser;
  std::vector<double> gap, weight;              // r, v
  std::vector<double> lever;                    // v times the slope of r in the score of the winner
  std::vector<double> t, tau;                   // −x, −y
  std::vector<double> c, rise, fall;            // sigmoid: log(1 + e^τ), the logistic of τ, and 1 less it
  std::vector<double> first, second;            // Σ v′ first of the pair, Σ v second
  std::vector<double> first_bend, second_bend;  // Σ v′ first_bend, Σ v second_bend
  std::vector<double>
      shared;  // of each document: Σ ± lever lever′ cross over pairs of its edges, + where it wins or loses both
  double cost = 0, rho = 0;               // Σ v v′ ℓ, and of minus the slopes in ρ
  std::optional<BivariateNormal> normal;  // gaussian

  std::vector<double> variance;   // of each document's noise, where there is noise
  std::vector<char> noise_moves;  // whether it changes with the weights of its inputs

  std::size_t size() const { return winner.size(); }
  void resize(std::size_t count);
  // The preferences of a query, of labels or given; `noise` are the weights of the inputs of the documents' noise.
  void collect(const ForceQuery& query, std::span<const double> noise, std::vector<std::uint32_t>& order);
  // x, y and all that follows from them; sums begin at 0.
  void prepare(const CdnSpec& spec, const CdnComponent& component, std::size_t documents, CdnAsked asked);
  CdnPair pair(std::size_t e, std::size_t f) const;
  // Adds a pair to the sums, `times` as often as once.
  void add(std::size_t e, std::size_t f, CdnAsked asked, double times = 1);
  void add_shared(std::size_t e, std::size_t f, double cross);

 private:
  void prepare_sigmoid();
  void find_variances(const ForceQuery& query, std::span<const double> noise);
};

// One term of the sigmoid: what it needs of t − c. `rest` is 1 − q, and not its rounding.
struct CdnTerm {
  double q, rest, fade;  // fade = e^{−|t − c|}

  explicit CdnTerm(double distance) : CdnTerm(distance, std::exp(-std::fabs(distance))) {}
  CdnTerm(double distance, double fade_) : fade(fade_) {
    const double large = 1 / (1 + fade), small = fade * large;
    q = distance >= 0 ? large : small, rest = distance >= 0 ? small : large;
  }
  // log(1 + e^{t − c})
  double softplus(double distance) const { return std::max(distance, 0.0) + std::log1p(fade); }
};

// The edges that each document is in, one after the other: numbers `edge` from begin[i] to begin[i + 1], with +1 where
// it wins and −1 where it loses.
struct CdnIncidence {
  std::vector<std::uint32_t> begin, edge;
  std::vector<double> sign;
  CdnIncidence(const CdnEdges& edges, std::size_t documents);
};

// Sums over all ordered pairs of edges, added to those of `edges`: term by term, or by interpolation.
void cdn_exact(CdnEdges& edges, CdnAsked asked);
void cdn_chebyshev(CdnEdges& edges, CdnAsked asked);
void cdn_smooth(CdnEdges& edges, CdnAsked asked, CdnCells& cells);
// By whichever of them the method asks for.
void cdn_all_pairs(CdnEdges& edges, CdnAsked asked, CdnMethod method, CdnCells& cells);
// Sums over ordered pairs of edges that share a document. Returns the weight of these pairs.
double cdn_shared(CdnEdges& edges, const CdnSpec& spec, const CdnComponent& component, CdnAsked asked, CdnEdges& part,
                  CdnCells& cells);
// Forces of all preferences of each winner at once.
void cdn_winner(const CdnSpec& spec, std::span<const double> values, const ForceQuery& query, ForceScratch& scratch,
                const ForceSums& sums);
// Adds the forces of edges whose sums over partners are complete: on documents, on w1 and w2, and on the weights of the
// noise.
void cdn_collect(const CdnEdges& edges, const CdnSpec& spec, const CdnComponent& component, const ForceQuery& query,
                 double divisor, const ForceSums& sums);

}  // namespace podium
