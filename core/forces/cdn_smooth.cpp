// Sums over all ordered pairs of edges of a smooth function of two places, by interpolation.
//
// Pairs of edges are sorted into cells of the plane. Of the edges along one side of a cell only the moments Σ v T_m are
// needed, and what all edges along the other side get is a series in T_k. Pairs in cells that hold few of them are
// added one by one. With P cells it takes O(E log E + E · nodes + P · nodes²), whatever the number of pairs.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "forces/cdn.hpp"
#include "forces/cdn_cells.hpp"
#include "interrupt.hpp"

namespace podium {
namespace {

constexpr std::size_t kFewPairs = 256;  // a cell takes as much time as about so many pairs
constexpr int kSmallest = -12;          // level of the smallest cells

// Along one axis: the places of the edges in an interval of a level, which is numbered by `index`.
struct Strip {
  int level;
  double index, scale;             // scale = 2^{1 − level}
  std::uint32_t begin, end;        // in the order of the places
  std::uint32_t half[2] = {0, 0};  // numbers of the strips of the next lower level; 0 where they are not made yet
  bool is_used = false;            // by a cell
  CellSeries moments{}, slope{}, bend{};

  std::uint32_t size() const { return end - begin; }
  // From −1 to 1.
  double inside(double place) const { return std::clamp(place * scale - (2 * index + 1), -1.0, 1.0); }
};

// Places in rising order, and the strips they are cut into. Strips 1 and 2 are below 0 and from 0 on.
class Axis {
 public:
  std::vector<double> place;
  std::vector<Strip> strips;

  void cut(int level) {
    const auto zero = std::lower_bound(place.begin(), place.end(), 0.0) - place.begin();
    const auto middle = static_cast<std::uint32_t>(zero), end = static_cast<std::uint32_t>(place.size());
    const double scale = std::ldexp(1.0, 1 - level);
    strips = {{0, 0, 1, 0, 0}, {level, -1, scale, 0, middle}, {level, 0, scale, middle, end}};
  }
  // The lower (0) or upper (1) half of a strip.
  std::uint32_t half(std::uint32_t number, std::size_t which) {
    if (strips[number].half[which] == 0) {
      const Strip& whole = strips[number];
      const double cut = std::ldexp(2 * whole.index + 1, whole.level - 1);
      const auto begin = place.begin() + whole.begin, end = place.begin() + whole.end;
      const auto middle = static_cast<std::uint32_t>(std::lower_bound(begin, end, cut) - place.begin());
      const Strip made{whole.level - 1, 2 * whole.index + static_cast<double>(which), 2 * whole.scale,
                       which ? middle : whole.begin, which ? whole.end : middle};
      strips[number].half[which] = static_cast<std::uint32_t>(strips.size());
      strips.push_back(made);
    }
    return strips[number].half[which];
  }
};

class SmoothSums {
 public:
  SmoothSums(CdnEdges& edges, CdnAsked asked, CdnCells& cells) : edges_(edges), asked_(asked), cells_(cells) {
    sort();
    find_scales();
  }

  void run() {
    for (const std::uint32_t row : {1u, 2u}) {
      for (const std::uint32_t column : {1u, 2u}) visit(column, row);
    }
    write(x_, edges_.first, edges_.first_bend), write(y_, edges_.second, edges_.second_bend);
    if (asked_.curvature) add_shared();
  }

 private:
  struct Used {
    std::uint32_t column, row;
    std::shared_ptr<const CdnCell> cell;
  };

  // Both places rise with the gap, so that the edges have one order on both axes.
  void sort() {
    order_.resize(edges_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return edges_.gap[a] != edges_.gap[b] ? edges_.gap[a] < edges_.gap[b] : a < b;
    });
    check_interrupt();
    for (const std::uint32_t e : order_) x_.place.push_back(-edges_.t[e]), y_.place.push_back(-edges_.tau[e]);
    int level = kSmallest + 1;
    for (const Axis* const axis : {&x_, &y_}) {
      for (const double end : {axis->place.front(), axis->place.back()}) {
        int exponent = 0;
        if (std::frexp(end, &exponent) != 0) level = std::max(level, exponent);
      }
    }
    x_.cut(level), y_.cut(level);
  }

  // Each function is largest in a corner of the plane; an eighth of the edges stand beyond the corners that are taken,
  // so that a few edges far out do not make the others negligible.
  void find_scales() {
    scales_.fill(0);
    const std::size_t low = order_.size() / 8, high = order_.size() - 1 - low;
    for (const double x : {x_.place[low], x_.place[high]}) {
      for (const double y : {y_.place[low], y_.place[high]}) {
        const CellValues values = cell_values(*edges_.normal, x, y);
        for (std::size_t which = 0; which < kCellFunctions; ++which) {
          scales_[which] = std::max(scales_[which], values[which]);
        }
      }
    }
  }

  void visit(std::uint32_t column, std::uint32_t row) {
    const std::size_t pairs = std::size_t{x_.strips[column].size()} * y_.strips[row].size();
    if (pairs == 0) return;
    const int level = x_.strips[column].level;
    if (pairs <= kFewPairs || level <= kSmallest) return add_pairs(x_.strips[column], y_.strips[row]);
    pace_.step(64 * kFewPairs);
    const auto cell = cells_.at(level, x_.strips[column].index, y_.strips[row].index);
    if (CdnCells::is_accurate(*cell, scales_)) return meet(column, row, cell);
    for (const std::size_t lower : {0, 1}) {
      for (const std::size_t left : {0, 1}) visit(x_.half(column, left), y_.half(row, lower));
    }
  }

  void add_pairs(const Strip& x, const Strip& y) {
    for (std::size_t a = x.begin; a < x.end; ++a) {
      pace_.step(64 * y.size());
      for (std::size_t b = y.begin; b < y.end; ++b) {
        if (a != b) edges_.add(order_[a], order_[b], asked_);
      }
    }
  }

  void meet(std::uint32_t column, std::uint32_t row, const std::shared_ptr<const CdnCell>& cell) {
    Strip &x = use(x_, column), &y = use(y_, row);
    for (std::size_t m = 0; m < kCellNodes; ++m) {
      for (std::size_t k = 0; k < kCellNodes; ++k) {
        x.slope[k] += cell->series[kCellFirst][m][k] * y.moments[m];
        x.bend[k] += cell->series[kCellFirstBend][m][k] * y.moments[m];
      }
      y.slope[m] += dot(cell->series[kCellSecond][m], x.moments);
      y.bend[m] += dot(cell->series[kCellSecondBend][m], x.moments);
      edges_.cost += dot(cell->series[kCellValue][m], x.moments) * y.moments[m];
      edges_.rho += dot(cell->series[kCellRho][m], x.moments) * y.moments[m];
    }
    for (std::size_t at = std::max(x.begin, y.begin); at < std::min(x.end, y.end); ++at) take_out(x, y, *cell, at);
    if (asked_.curvature) used_.push_back({column, row, cell});
  }

  // The strip, with its moments.
  Strip& use(Axis& axis, std::uint32_t number) {
    Strip& strip = axis.strips[number];
    if (strip.is_used) return strip;
    strip.is_used = true;
    for (std::size_t at = strip.begin; at < strip.end; ++at) {
      pace_.step(kCellNodes);
      const CellSeries values = chebyshev_polynomials(strip.inside(axis.place[at]));
      const double weight = edges_.weight[order_[at]];
      for (std::size_t m = 0; m < kCellNodes; ++m) strip.moments[m] += weight * values[m];
    }
    return strip;
  }

  // An edge's pair with itself, which the sums of its cell have, as they have it.
  void take_out(const Strip& x, const Strip& y, const CdnCell& cell, std::size_t at) {
    const CellSeries over_x = chebyshev_polynomials(x.inside(x_.place[at])),
                     over_y = chebyshev_polynomials(y.inside(y_.place[at]));
    const auto value = [&](CellFunction which) { return cell.value(which, over_x, over_y); };
    pace_.step(kCellNodes * kCellNodes);
    const std::uint32_t e = order_[at];
    const double v = edges_.weight[e];
    edges_.first[e] -= v * value(kCellFirst), edges_.second[e] -= v * value(kCellSecond);
    edges_.rho -= v * v * value(kCellRho);
    if (asked_.cost) edges_.cost -= v * v * value(kCellValue);
    if (!asked_.curvature) return;
    edges_.first_bend[e] -= v * value(kCellFirstBend), edges_.second_bend[e] -= v * value(kCellSecondBend);
    edges_.add_shared(e, e, -value(kCellCross));
  }

  // The series of all strips at the places of their edges.
  void write(const Axis& axis, std::vector<double>& slope, std::vector<double>& bend) {
    for (const Strip& strip : axis.strips) {
      if (!strip.is_used) continue;
      for (std::size_t at = strip.begin; at < strip.end; ++at) {
        pace_.step(kCellNodes);
        const CellSeries values = chebyshev_polynomials(strip.inside(axis.place[at]));
        slope[order_[at]] += dot(strip.slope, values);
        if (asked_.curvature) bend[order_[at]] += dot(strip.bend, values);
      }
    }
    for (double& sum : slope) sum = std::max(sum, 0.0);
    if (asked_.curvature) {
      for (double& sum : bend) sum = std::max(sum, 0.0);
    }
  }

  // Pairs of the edges of one document after the other, in the cells: their moments are those of these edges alone.
  void add_shared() {
    const CdnIncidence of(edges_, edges_.shared.size());
    std::vector<std::uint32_t> place_of(order_.size());
    for (std::uint32_t at = 0; at < order_.size(); ++at) place_of[order_[at]] = at;
    Few on_x(x_), on_y(y_);
    for (std::size_t i = 0; i < edges_.shared.size(); ++i) {
      on_x.clear(), on_y.clear();
      for (std::size_t a = of.begin[i]; a < of.begin[i + 1]; ++a) {
        pace_.step(8 * kCellNodes);
        const double weight = of.sign[a] * edges_.lever[of.edge[a]];
        on_x.add(place_of[of.edge[a]], weight), on_y.add(place_of[of.edge[a]], weight);
      }
      if (of.begin[i] == of.begin[i + 1]) continue;
      pace_.step(used_.size());
      for (const Used& used : used_) {
        if (!on_x.has(used.column) || !on_y.has(used.row)) continue;
        pace_.step(kCellNodes * kCellNodes);
        const CellSeries &x = on_x.moments[used.column], &y = on_y.moments[used.row];
        double total = 0;
        for (std::size_t m = 0; m < kCellNodes; ++m) total += dot(used.cell->series[kCellCross][m], x) * y[m];
        edges_.shared[i] += total;
      }
    }
  }

  // Moments of some of the edges, in the strips that they are in.
  struct Few {
    const Axis& axis;
    std::vector<CellSeries> moments;
    std::vector<char> is_there;
    std::vector<std::uint32_t> there;

    explicit Few(const Axis& of) : axis(of), moments(of.strips.size()), is_there(of.strips.size(), 0) {}
    bool has(std::uint32_t number) const { return is_there[number]; }
    void clear() {
      for (const std::uint32_t number : there) is_there[number] = 0;
      there.clear();
    }
    void add(std::uint32_t at, double weight) {
      std::uint32_t number = at < axis.strips[1].end ? 1 : 2;
      while (number != 0) {
        const Strip& strip = axis.strips[number];
        if (strip.is_used) {
          if (!is_there[number]) is_there[number] = 1, there.push_back(number), moments[number].fill(0);
          const CellSeries values = chebyshev_polynomials(strip.inside(axis.place[at]));
          for (std::size_t m = 0; m < kCellNodes; ++m) moments[number][m] += weight * values[m];
        }
        std::uint32_t next = 0;
        for (const std::uint32_t half : strip.half) {
          if (half != 0 && at >= axis.strips[half].begin && at < axis.strips[half].end) next = half;
        }
        number = next;
      }
    }
  };

  CdnEdges& edges_;
  const CdnAsked asked_;
  CdnCells& cells_;
  std::vector<std::uint32_t> order_;
  Axis x_, y_;
  CellScales scales_;
  std::vector<Used> used_;
  InterruptPace pace_;
};

}  // namespace

void cdn_smooth(CdnEdges& edges, CdnAsked asked, CdnCells& cells) {
  cells.use(*edges.normal);
  SmoothSums(edges, asked, cells).run();
}

}  // namespace podium
