#include "forces/cdn_cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "random.hpp"

namespace podium {
namespace {

constexpr double kAccuracy = 1e-6;      // of a cell's last coefficients, as a share of its largest
constexpr double kBendAccuracy = 1e-5;  // of second derivatives, whose digits cancel far out
constexpr double kBorder = 0.1;         // share of an error along the border that counts
constexpr double kNegligible = 1e-8;    // as a share of what a function is worth on the whole

struct Nodes {
  CellSeries place;                              // from −1 to 1
  std::array<CellSeries, kCellNodes> transform;  // [k][a]: from values at the nodes to the series

  Nodes() {
    for (std::size_t a = 0; a < kCellNodes; ++a) {
      const double angle = std::numbers::pi * (static_cast<double>(a) + 0.5) / kCellNodes;
      place[a] = std::cos(angle);
      for (std::size_t k = 0; k < kCellNodes; ++k) {
        transform[k][a] = (k == 0 ? 1.0 : 2.0) / kCellNodes * std::cos(static_cast<double>(k) * angle);
      }
    }
  }
};

const Nodes& nodes() {
  static const Nodes held;
  return held;
}

// From values at pairs of nodes [b][a] to coefficients [m][k].
void transform(std::array<CellSeries, kCellNodes>& table) {
  const auto& to_series = nodes().transform;
  for (CellSeries& row : table) {
    CellSeries out{};
    for (std::size_t k = 0; k < kCellNodes; ++k) {
      for (std::size_t a = 0; a < kCellNodes; ++a) out[k] += to_series[k][a] * row[a];
    }
    row = out;
  }
  std::array<CellSeries, kCellNodes> out{};
  for (std::size_t m = 0; m < kCellNodes; ++m) {
    for (std::size_t b = 0; b < kCellNodes; ++b) {
      for (std::size_t k = 0; k < kCellNodes; ++k) out[m][k] += to_series[m][b] * table[b][k];
    }
  }
  table = out;
}

// Places along the border of a cell.
std::vector<std::pair<double, double>> make_border() {
  std::vector<std::pair<double, double>> out;
  for (const double along : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    for (const double end : {-1.0, 1.0}) {
      out.emplace_back(end, along);
      if (std::fabs(along) < 1) out.emplace_back(along, end);
    }
  }
  return out;
}

const std::vector<std::pair<double, double>>& border() {
  static const std::vector<std::pair<double, double>> held = make_border();
  return held;
}

}  // namespace

CellValues cell_values(const BivariateNormal& normal, double x, double y) {
  const BivariateProbit found = normal(x, y);
  return {found.value, found.x, found.y, found.rho, found.xx, found.yy, -found.xy};
}

CellSeries chebyshev_polynomials(double place) {
  CellSeries out;
  out[0] = 1, out[1] = place;
  for (std::size_t k = 2; k < kCellNodes; ++k) out[k] = 2 * place * out[k - 1] - out[k - 2];
  return out;
}

double dot(const CellSeries& a, const CellSeries& b) {
  double sums[4] = {0, 0, 0, 0};
  for (std::size_t k = 0; k < kCellNodes; k += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[k + lane] * b[k + lane];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

double CdnCell::value(CellFunction which, const CellSeries& over_x, const CellSeries& over_y) const {
  CellSeries rows;
  for (std::size_t m = 0; m < kCellNodes; ++m) rows[m] = dot(series[which][m], over_x);
  return dot(rows, over_y);
}

std::size_t CdnCells::Hash::operator()(const Key& key) const {
  const std::uint64_t of_i = splitmix64(std::bit_cast<std::uint64_t>(key.i) ^ static_cast<std::uint64_t>(key.level));
  return splitmix64(of_i ^ std::bit_cast<std::uint64_t>(key.j));
}

void CdnCells::use(const BivariateNormal& normal) {
  if (normal.rho() != normal_.rho()) cells_.clear();
  normal_ = normal;
}

std::shared_ptr<const CdnCell> CdnCells::at(int level, double i, double j) {
  if (cells_.size() >= kMost) cells_.clear();
  std::shared_ptr<const CdnCell>& found = cells_[{level, i, j}];
  if (found) return found;
  const auto made = std::make_shared<CdnCell>();
  CdnCell* const held = made.get();
  const double half = std::ldexp(0.5, level);
  for (std::size_t b = 0; b < kCellNodes; ++b) {
    const double y = half * (2 * j + 1 + nodes().place[b]);
    for (std::size_t a = 0; a < kCellNodes; ++a) {
      const CellValues values = cell_values(normal_, half * (2 * i + 1 + nodes().place[a]), y);
      for (std::size_t which = 0; which < kCellFunctions; ++which) held->series[which][b][a] = values[which];
    }
  }
  for (std::size_t which = 0; which < kCellFunctions; ++which) {
    transform(held->series[which]);
    double largest = 0, last = 0;
    for (std::size_t m = 0; m < kCellNodes; ++m) {
      for (std::size_t k = 0; k < kCellNodes; ++k) {
        const double size = std::fabs(held->series[which][m][k]);
        largest = std::max(largest, size);
        if (std::max(m, k) + 2 >= kCellNodes) last = std::max(last, size);
      }
    }
    held->largest[which] = largest, held->left_out[which] = last;
  }
  for (const auto& [u, v] : border()) {
    const CellSeries over_x = chebyshev_polynomials(u), over_y = chebyshev_polynomials(v);
    const CellValues values = cell_values(normal_, half * (2 * i + 1 + u), half * (2 * j + 1 + v));
    for (std::size_t which = 0; which < kCellFunctions; ++which) {
      const double error = held->value(static_cast<CellFunction>(which), over_x, over_y) - values[which];
      held->left_out[which] = std::max(held->left_out[which], kBorder * std::fabs(error));
    }
  }
  return found = made;
}

bool CdnCells::is_accurate(const CdnCell& cell, const CellScales& scales) {
  for (std::size_t which = 0; which < kCellFunctions; ++which) {
    const bool bends = which >= kCellFirstBend;
    // The mixed derivative stands beside the others in a curvature.
    const double largest =
        bends ? std::max({cell.largest[kCellFirstBend], cell.largest[kCellSecondBend]}) : cell.largest[which];
    const double allowed = std::max((bends ? kBendAccuracy : kAccuracy) * largest, kNegligible * scales[which]);
    if (cell.left_out[which] > allowed) return false;
  }
  return true;
}

}  // namespace podium
