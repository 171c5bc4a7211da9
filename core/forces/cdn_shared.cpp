// Sums over ordered pairs of edges that share a document: the edges of each document in turn are a full network. Pairs
// of edges between the same two documents are in two of them, and are taken out once. With interpolation it takes O(E)
// for the edges of all documents together, and Σ degree² term by term.
#include <algorithm>
#include <numeric>

#include "forces/cdn.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

// Σ v v′ over ordered pairs of different edges among some.
double pair_weight(double sum, double squares) {
  return std::max(sum * sum - squares, 0.0);
}

// Edges of one document, which is document 0 of the part; all others count as document 1, whose sums are not used.
void take_part(const CdnEdges& edges, const CdnIncidence& of, std::size_t document, CdnEdges& part) {
  const std::size_t begin = of.begin[document], count = of.begin[document + 1] - begin;
  part.resize(count);
  for (std::size_t a = 0; a < count; ++a) {
    const std::uint32_t e = of.edge[begin + a];
    const bool wins = of.sign[begin + a] > 0;
    part.winner[a] = wins ? 0 : 1, part.loser[a] = wins ? 1 : 0;
    part.gap[a] = edges.gap[e], part.weight[a] = edges.weight[e], part.lever[a] = edges.lever[e];
  }
}

void give_back(const CdnEdges& part, const CdnIncidence& of, std::size_t document, CdnAsked asked, CdnEdges& edges) {
  for (std::size_t a = 0; a < part.size(); ++a) {
    const std::uint32_t e = of.edge[of.begin[document] + a];
    edges.first[e] += part.first[a], edges.second[e] += part.second[a];
    if (asked.curvature) edges.first_bend[e] += part.first_bend[a], edges.second_bend[e] += part.second_bend[a];
  }
  edges.cost += part.cost, edges.rho += part.rho, edges.shared[document] += part.shared[0];
}

// Takes pairs of edges between the same two documents out of the sums once. Returns their weight.
double take_out_doubles(CdnEdges& edges, CdnAsked asked) {
  std::vector<std::uint32_t> order(edges.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto documents = [&](std::uint32_t e) { return std::minmax(edges.winner[e], edges.loser[e]); };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return documents(a) < documents(b); });
  double weight = 0;
  const std::vector<double> shared = edges.shared;  // each document counted these pairs among its own once
  InterruptPace pace;
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && documents(order[end]) == documents(order[begin])) ++end;
    for (std::size_t a = begin; a < end; ++a) {
      pace.step(64 * (end - begin));
      for (std::size_t b = begin; b < end; ++b) {
        if (a == b) continue;
        edges.add(order[a], order[b], asked, -1.0);
        weight += edges.weight[order[a]] * edges.weight[order[b]];
      }
    }
  }
  edges.shared = shared;
  return weight;
}

}  // namespace

double cdn_shared(CdnEdges& edges, const CdnSpec& spec, const CdnComponent& component, CdnAsked asked, CdnEdges& part,
                  CdnCells& cells) {
  const CdnIncidence of(edges, edges.shared.size());
  double weight = 0;
  for (std::size_t i = 0; i < edges.shared.size(); ++i) {
    if (of.begin[i + 1] - of.begin[i] < 2) continue;
    check_interrupt();
    take_part(edges, of, i, part);
    part.prepare(spec, component, 2, asked);
    cdn_all_pairs(part, asked, spec.method, cells);
    give_back(part, of, i, asked, edges);
    double sum = 0, squares = 0;
    for (const double v : part.weight) sum += v, squares += v * v;
    weight += pair_weight(sum, squares);
  }
  return weight - take_out_doubles(edges, asked);
}

}  // namespace podium
