// Sums over all ordered pairs of edges, term by term: O(E²).
#include <cmath>
#include <cstring>

#include "dispatch.hpp"
#include "exponentials.hpp"
#include "forces/cdn.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

typedef double Four __attribute__((vector_size(32)));

PODIUM_INLINE Four load(const double* from) {
  Four out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

PODIUM_INLINE void add_to(double* to, Four value) {
  value += load(to);
  std::memcpy(to, &value, sizeof value);
}

PODIUM_INLINE double sum(Four lanes) {
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

// u = e^t and x = e^τ of all edges, filled up with edges of no weight to a multiple of four.
struct Padded {
  std::size_t size;
  std::vector<double> u, x, weight, second, second_bend;

  explicit Padded(const CdnEdges& edges)
      : size((edges.size() + 3) / 4 * 4),
        u(edges.t),
        x(edges.tau),
        weight(edges.weight),
        second(size, 0.0),
        second_bend(size, 0.0) {
    exponentials(u), exponentials(x);
    u.resize(size, 0.0), x.resize(size, 0.0), weight.resize(size, 0.0);
  }
};

// The edge e as the first of a pair with every other: its own sums, and those of all the others as the second.
template <bool kCurvature>
PODIUM_INLINE void add_row(std::size_t e, Padded& all, CdnEdges& edges) {
  const double u = all.u[e], v = all.weight[e], above = 1 + u;
  const double second = all.second[e], second_bend = all.second_bend[e];
  all.weight[e] = 0;  // no edge is a partner of itself
  Four first = {0, 0, 0, 0}, first_bend = {0, 0, 0, 0};
  for (std::size_t f = 0; f < all.size; f += 4) {
    const Four x = load(&all.x[f]), weight = load(&all.weight[f]);
    const Four part = 1.0 / (above + x), q = u * part, other = x * part;
    first += weight * q;
    add_to(&all.second[f], v * other);
    if constexpr (kCurvature) {
      first_bend += weight * q * ((1.0 + x) * part);
      add_to(&all.second_bend[f], v * other * (above * part));
    }
  }
  all.weight[e] = v, all.second[e] = second, all.second_bend[e] = second_bend;
  edges.first[e] += sum(first);
  if constexpr (kCurvature) edges.first_bend[e] += sum(first_bend);
}

template <bool kCurvature>
PODIUM_INLINE void add_rows(Padded& all, CdnEdges& edges) {
  for (InterruptBlocks block(edges.size(), edges.size()); block.next();) {
    for (std::size_t e = block.begin(); e < block.end(); ++e) add_row<kCurvature>(e, all, edges);
  }
}
void add_rows_portable(Padded& all, CdnEdges& edges, bool curvature) {
  curvature ? add_rows<true>(all, edges) : add_rows<false>(all, edges);
}
PODIUM_AVX2 void add_rows_avx2(Padded& all, CdnEdges& edges, bool curvature) {
  curvature ? add_rows<true>(all, edges) : add_rows<false>(all, edges);
}

// Σ log(1 + u_e + x_f) over all e and f, for edges of weight 1, the logarithm taken of products of eight.
double log_sum(const Padded& all, std::size_t count) {
  double total = 0;
  InterruptPace pace;
  for (std::size_t e = 0; e < count; ++e) {
    pace.step(count);
    const double above = 1 + all.u[e], *const x = all.x.data();
    std::size_t f = 0;
    for (; f + 8 <= count; f += 8) {
      total += std::log((((above + x[f]) * (above + x[f + 1])) * ((above + x[f + 2]) * (above + x[f + 3]))) *
                        (((above + x[f + 4]) * (above + x[f + 5])) * ((above + x[f + 6]) * (above + x[f + 7]))));
    }
    for (; f < count; ++f) total += std::log(above + x[f]);
    total -= std::log(above + x[e]);
  }
  return total;
}

double safe_cost(const CdnEdges& edges) {
  double total = 0;
  InterruptPace pace;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    pace.step(edges.size());
    double row = 0;
    for (std::size_t f = 0; f < edges.size(); ++f) {
      if (f == e) continue;
      const double distance = edges.t[e] - edges.c[f];
      row += edges.weight[f] * (edges.c[f] + CdnTerm(distance).softplus(distance));
    }
    total += edges.weight[e] * row;
  }
  return total;
}

// Where e^t would overflow: an exponential for each term.
void add_rows_safely(CdnEdges& edges, bool curvature) {
  InterruptPace pace;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    pace.step(edges.size());
    for (std::size_t f = 0; f < edges.size(); ++f) {
      if (f == e) continue;
      const CdnTerm term(edges.t[e] - edges.c[f]);
      const double second = edges.rise[f] * term.rest;
      edges.first[e] += edges.weight[f] * term.q;
      edges.second[f] += edges.weight[e] * second;
      if (!curvature) continue;
      edges.first_bend[e] += edges.weight[f] * term.q * term.rest;
      edges.second_bend[f] += edges.weight[e] * second * (term.q + term.rest * edges.fall[f]);
    }
  }
}

// Pairs of edges that have a document in common.
void add_shared(CdnEdges& edges) {
  const CdnIncidence of(edges, edges.shared.size());
  InterruptPace pace;
  for (std::size_t i = 0; i < edges.shared.size(); ++i) {
    for (std::size_t a = of.begin[i]; a < of.begin[i + 1]; ++a) {
      pace.step(of.begin[i + 1] - of.begin[i]);
      const std::size_t e = of.edge[a];
      double total = 0;
      for (std::size_t b = of.begin[i]; b < of.begin[i + 1]; ++b) {
        if (a == b) continue;
        const std::size_t f = of.edge[b];
        const CdnTerm term(edges.t[e] - edges.c[f]);
        total += of.sign[b] * edges.lever[f] * edges.rise[f] * (term.q * term.rest);
      }
      edges.shared[i] += of.sign[a] * edges.lever[e] * total;
    }
  }
}

// One function value after the other.
void add_each(CdnEdges& edges, CdnAsked asked) {
  InterruptPace pace;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    for (std::size_t f = 0; f < edges.size(); ++f) {
      pace.step(64);
      if (e != f) edges.add(e, f, asked);
    }
  }
}

}  // namespace

void cdn_exact(CdnEdges& edges, CdnAsked asked) {
  if (edges.normal) return add_each(edges, asked);
  double most = -INFINITY;
  bool plain = true;
  for (std::size_t e = 0; e < edges.size(); ++e) {
    most = std::max({most, edges.t[e], edges.tau[e]});
    plain = plain && edges.weight[e] == 1;
  }
  if (most < 600) {
    Padded all(edges);
    (has_avx2() ? add_rows_avx2 : add_rows_portable)(all, edges, asked.curvature);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      edges.second[e] += all.second[e];
      if (asked.curvature) edges.second_bend[e] += all.second_bend[e];
    }
    // Products of eight do not overflow; where all terms are small, 1 + u + x has lost their digits.
    if (asked.cost) edges.cost += plain && most > -5 && most < 80 ? log_sum(all, edges.size()) : safe_cost(edges);
  } else {
    add_rows_safely(edges, asked.curvature);
    if (asked.cost) edges.cost += safe_cost(edges);
  }
  if (asked.curvature) add_shared(edges);
}

}  // namespace podium
