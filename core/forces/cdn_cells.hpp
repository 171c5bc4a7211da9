// −log Φ₂ and its derivatives as polynomials, cell by cell of the plane.
//
// Cells are squares whose sides are powers of two, with corners at multiples of the side. Inside a cell, with u and v
// from −1 to 1 along x and y, a function is Σ K_mk T_k(u) T_m(v), T the Chebyshev polynomials. A cell is good enough
// for a function where its last coefficients are small; where they are not, its four quarters are taken.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "forces/normal.hpp"

namespace podium {

inline constexpr std::size_t kCellNodes = 12;
enum CellFunction : std::size_t {
  kCellValue,
  kCellFirst,
  kCellSecond,
  kCellRho,
  kCellFirstBend,
  kCellSecondBend,
  kCellCross
};
inline constexpr std::size_t kCellFunctions = 7;
using CellSeries = std::array<double, kCellNodes>;
using CellValues = std::array<double, kCellFunctions>;

// The functions at a place.
CellValues cell_values(const BivariateNormal& normal, double x, double y);
// T_0 … T_11 at a place from −1 to 1.
CellSeries chebyshev_polynomials(double place);
double dot(const CellSeries& a, const CellSeries& b);

struct CdnCell {
  std::array<std::array<CellSeries, kCellNodes>, kCellFunctions> series;  // [function][m][k]
  // The size of the largest coefficient, and of what is left out: the coefficients of the two highest orders, and a
  // tenth of the errors at places along the border. A bend of the function in a corner is seen by these alone.
  CellValues largest, left_out;

  // Σ K_mk T_k(u) T_m(v), given the polynomials at u and v.
  double value(CellFunction which, const CellSeries& over_x, const CellSeries& over_y) const;
};

// What the functions are worth on the whole: errors far below these do not count.
using CellScales = CellValues;

// Cells of one correlation, kept while it stays the same.
class CdnCells {
 public:
  // Forgets all cells if they are of another correlation.
  void use(const BivariateNormal& normal);
  // The cell from (side · i, side · j) to (side · (i + 1), side · (j + 1)), side = 2^level.
  std::shared_ptr<const CdnCell> at(int level, double i, double j);
  // Whether the polynomials of a cell are accurate.
  static bool is_accurate(const CdnCell& cell, const CellScales& scales);

 private:
  struct Key {
    int level;
    double i, j;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  static constexpr std::size_t kMost = 1024;  // cells that are kept, 8 KB each

  BivariateNormal normal_{0};
  std::unordered_map<Key, std::shared_ptr<const CdnCell>, Hash> cells_;
};

}  // namespace podium
