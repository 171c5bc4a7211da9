// The line cut into panels of width 2, and what stands in each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "forces/chebyshev.hpp"
#include "interrupt.hpp"

namespace podium {

// Places on the line, by panel: panel p goes from 2 id to 2 id + 2, and holds the edges order[begin[p]] to
// order[begin[p + 1] − 1], which stand at x, from −1 to 1 in it. Only panels that hold some are there, from the left to
// the right.
struct Panels {
  std::span<const double> place;
  std::vector<double> id;
  std::vector<std::uint32_t> begin, order, number;  // number: the panel of each edge
  std::vector<double> x;                            // in this order, and three more
  std::vector<double> moments;                      // [panels × nodes]

  explicit Panels(std::span<const double> places)
      : place(places), order(places.size()), number(places.size()), x(places.size() + 3, 0.0) {
    const auto [least, most] = std::minmax_element(place.begin(), place.end());
    const double first = std::floor(0.5 * *least), range = std::floor(0.5 * *most) - first;
    range < 4.0 * static_cast<double>(place.size()) ? by_counting(first, static_cast<std::size_t>(range) + 1)
                                                    : by_sorting();
    check_interrupt();
    for (std::size_t p = 0; p < size(); ++p) {
      for (std::size_t k = begin[p]; k < begin[p + 1]; ++k) x[k] = inside(order[k]);
    }
    moments.assign(size() * kNodes, 0.0);
  }
  std::size_t size() const { return id.size(); }
  double center(std::size_t p) const { return 2 * id[p] + 1; }
  // Where the edge stands in its panel, from −1 to 1; past 2⁵³ the center itself is rounded.
  double inside(std::size_t e) const { return std::clamp(place[e] - center(number[e]), -1.0, 1.0); }

 private:
  void by_counting(double first, std::size_t range) {
    std::vector<std::uint32_t> next(range + 1, 0), panel(range + 1, 0);
    for (std::size_t e = 0; e < place.size(); ++e) {
      number[e] = static_cast<std::uint32_t>(0.5 * place[e] - first);  // which may round up to a whole number
      ++next[number[e]];
    }
    std::uint32_t total = 0;
    for (std::size_t k = 0; k <= range; ++k) {
      const std::uint32_t count = next[k];
      next[k] = total, panel[k] = static_cast<std::uint32_t>(id.size());
      if (count == 0) continue;
      id.push_back(first + static_cast<double>(k)), begin.push_back(total);
      total += count;
    }
    begin.push_back(total);
    for (std::uint32_t e = 0; e < place.size(); ++e) order[next[number[e]]++] = e, number[e] = panel[number[e]];
  }

  void by_sorting() {
    std::iota(order.begin(), order.end(), 0u);
    const auto id_of = [&](std::uint32_t e) { return std::floor(0.5 * place[e]); };
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return id_of(a) != id_of(b) ? id_of(a) < id_of(b) : a < b; });
    for (std::uint32_t k = 0; k < order.size(); ++k) {
      const std::uint32_t e = order[k];
      if (id.empty() || id_of(e) != id.back()) id.push_back(id_of(e)), begin.push_back(k);
      number[e] = static_cast<std::uint32_t>(id.size() - 1);
    }
    begin.push_back(static_cast<std::uint32_t>(order.size()));
  }
};

}  // namespace podium
