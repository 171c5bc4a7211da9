#include "trees/split.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "random.hpp"
#include "trees/cuts.hpp"
#include "trees/running_cells.hpp"

namespace podium {
namespace {

constexpr double kTiny = 1e-300;
// Less than the value of any node: bounds on the leaf's value can make that smaller than any fixed number.
constexpr double kForbidden = -std::numeric_limits<double>::infinity();

double soft(double force, double l1) {
  return std::copysign(std::max(std::fabs(force) - l1, 0.0), force);
}

// The value of a node.
double squared(const Sums& sums, const SplitSettings& settings) {
  const double f = soft(sums.force, settings.l1);
  return f * f / std::max(sums.curvature + settings.l2, kTiny);
}

// One column of one node, one cut after the other, with all rules checked.
class Scan {
 public:
  Scan(const ColumnInfo& column, const NodeInfo& node, const SplitSettings& settings, const Units& units)
      : column_(column), node_(node), settings_(settings), total_(sums(node.total, units)), units_(units) {}

  static Sums sums(const WideCell& cell, const Units& units) {
    return {static_cast<double>(cell.force) * units.force, static_cast<double>(cell.curvature) * units.curvature};
  }
  const Sums& total() const { return total_; }
  // The value of the undivided node.
  double whole() const { return node_.bounded ? worth(total_, held(total_)) : squared(total_, settings_); }

  // The value of both sides, or kForbidden if a rule is broken.
  double sides(const WideCell& left_cell, std::int64_t left_documents, bool counted) const {
    const Sums left = sums(left_cell, units_);
    const Sums right{total_.force - left.force, total_.curvature - left.curvature};
    if (!(left.curvature >= settings_.min_curvature && right.curvature >= settings_.min_curvature)) return kForbidden;
    const std::int64_t fewest = settings_.min_documents, documents = static_cast<std::int64_t>(node_.documents);
    if (counted && (left_documents < fewest || documents - left_documents < fewest)) return kForbidden;
    if (!node_.bounded) {
      const double f = soft(left.force, settings_.l1), g = soft(right.force, settings_.l1);
      const double d = left.curvature + settings_.l2, e = right.curvature + settings_.l2;
      return (f * f * e + g * g * d) / (d * e);
    }
    const double low = held(left), high = held(right);
    if (column_.monotone * (high - low) < 0) return kForbidden;
    return worth(left, low) + worth(right, high);
  }

 private:
  double held(const Sums& s) const {
    return std::clamp(leaf_value(s.force, s.curvature, settings_), node_.low, node_.high);
  }
  double worth(const Sums& s, double value) const {
    return 2 * s.force * value - (s.curvature + settings_.l2) * value * value - 2 * settings_.l1 * std::fabs(value);
  }

  const ColumnInfo& column_;
  const NodeInfo& node_;
  const SplitSettings& settings_;
  const Sums total_;
  const Units& units_;
};

void keep(Split& best, double sides, std::size_t bin, bool missing_left, const WideCell& left) {
  if (!(sides > best.gain)) return;
  best.gain = sides, best.bin = static_cast<std::uint8_t>(bin), best.missing_left = missing_left, best.left = left;
}

// The first of the largest values. Several are compared at a time, because one after the other each would wait for the
// one before.
void keep_first_largest(Split& best, const double* values, std::size_t first, std::size_t last, bool missing_left) {
  using Pair = Doubles<2>;
  constexpr std::size_t kAtOnce = 4, kWidth = 2 * kAtOnce;
  const Pair least = Pair{} + best.gain;
  Pair largest[kAtOnce] = {least, least, least, least};
  std::size_t b = first;
  for (; b + kWidth <= last; b += kWidth) {
    for (std::size_t k = 0; k < kAtOnce; ++k) {
      Pair two;
      std::memcpy(&two, values + b + 2 * k, sizeof two);
      largest[k] = two > largest[k] ? two : largest[k];
    }
  }
  double most = std::max({largest[0][0], largest[0][1], largest[1][0], largest[1][1], largest[2][0], largest[2][1],
                          largest[3][0], largest[3][1]});
  for (; b < last; ++b) most = values[b] > most ? values[b] : most;
  if (!(most > best.gain)) return;
  keep(best, most, static_cast<std::size_t>(std::find(values + first, values + last, most) - values), missing_left, {});
}

template <class Cell>
void scan_fast(const Cell* histogram, const ColumnInfo& column, const NodeInfo& node, const Scan& scan,
               const SplitSettings& settings, const Units& units, double threshold, Split& best) {
  const Cell missing = column.missing ? histogram[255] : Cell{};
  for (int missing_left = 0; missing_left <= (missing != Cell{}); ++missing_left) {
    const BestCut found = best_cut(histogram, column.bins, node.documents, missing_left ? missing : Cell{},
                                   scan.total(), settings, units, threshold);
    if (!(found.sides > best.gain)) continue;
    const Cell left = std::accumulate(histogram, histogram + found.place + 1, missing_left ? missing : Cell{});
    keep(best, found.sides, found.place, missing_left != 0, widened(left));
  }
}

template <class Cell>
void scan_careful(const Cell* histogram, const std::int64_t* counts, const ColumnInfo& column, const NodeInfo& node,
                  const Scan& scan, const SplitSettings& settings, Split& best) {
  std::size_t first = 0, last = column.bins;
  if (settings.random_thresholds) {  // one cut, drawn from those with both sides not empty
    while (first < last && histogram[first] == Cell{}) ++first;
    while (last > first + 1 && histogram[last - 1] == Cell{}) --last;
    if (last == first) return;
    const std::uint64_t bits = splitmix64(node.draw ^ (best.feature * 2ull + 1)) >> 11;
    const std::size_t cut = first + bits % std::max<std::size_t>(1, last - first - 1);  // one bin: missing or not
    first = cut, last = cut + 1;
  }
  const Cell missing = column.missing ? histogram[255] : Cell{};
  for (int missing_left = 0; missing_left <= (missing != Cell{}); ++missing_left) {
    Cell left = missing_left ? missing : Cell{};
    std::int64_t documents = missing_left && counts ? counts[255] : 0;
    for (std::size_t b = 0; b < last; ++b) {
      left += histogram[b];
      if (counts) documents += counts[b];
      if (b < first) continue;
      const WideCell sum = widened(left);
      keep(best, scan.sides(sum, documents, counts != nullptr), b, missing_left != 0, sum);
    }
  }
}

// Categories in the order of force over curvature, smoothed; then treated as numbers. Missing is one of them.
template <class Cell>
void scan_categories(const Cell* histogram, const std::int64_t* counts, const ColumnInfo& column, const NodeInfo& node,
                     const Scan& scan, const Units& units, Split& best) {
  constexpr double kSmoothing = 10;  // documents
  const double smooth = kSmoothing * scan.total().curvature / std::max(1.0, static_cast<double>(node.documents));
  std::vector<std::pair<double, std::uint8_t>> order;
  for (std::size_t b = 0; b < 256; ++b) {
    if (histogram[b] == Cell{} || (b >= column.bins && b != 255)) continue;
    const Sums sums = Scan::sums(widened(histogram[b]), units);
    order.emplace_back(sums.force / std::max(sums.curvature + smooth, kTiny), static_cast<std::uint8_t>(b));
  }
  std::sort(order.begin(), order.end());
  WideCell left{};
  std::int64_t documents = 0;
  std::size_t taken = 0;
  for (std::size_t k = 0; k + 1 < order.size(); ++k) {
    left += widened(histogram[order[k].second]);
    if (counts) documents += counts[order[k].second];
    const double before = best.gain;
    keep(best, scan.sides(left, documents, counts != nullptr), 0, false, left);
    if (best.gain > before) taken = k + 1;
  }
  best.categorical = true;
  for (std::size_t k = 0; k < taken; ++k) best.left_bins[order[k].second >> 6] |= 1ull << (order[k].second & 63);
}

double normal_draw(std::uint64_t key) {
  const double u = static_cast<double>((splitmix64(key) >> 11) + 1) * 0x1.0p-53;
  const double v = static_cast<double>(splitmix64(key ^ 0xD1B54A32D192ED03) >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

// The smallest value of both sides for which a split counts; less is rounding.
double least_gain(double whole, const SplitSettings& settings) {
  return whole + std::max(settings.min_gain, 1e-10 * std::fabs(whole));
}

// Computes the gain of the split, and the number by which it is compared, from the value of both sides.
void finish(Split& best, double floor, double whole, std::uint64_t draw, const SplitSettings& settings) {
  best.gain = best.gain > floor ? best.gain - whole : 0;
  best.compared = best.gain;
  if (best.found() && settings.random_strength > 0) {
    best.compared *= std::exp(settings.random_strength * normal_draw(draw ^ (best.feature * 2ull)));
  }
}

}  // namespace

double leaf_value(double force, double curvature, const SplitSettings& settings) {
  return soft(force, settings.l1) / std::max(curvature + settings.l2, kTiny);
}

template <class Cell>
Split scan_column(const Cell* histogram, const std::int64_t* counts, const ColumnInfo& column, const NodeInfo& node,
                  const SplitSettings& settings, const Units& units, double rival) {
  const Scan scan(column, node, settings, units);
  const double whole = scan.whole();
  Split best;
  best.feature = column.feature, best.column = column.column;
  const double floor = best.gain = least_gain(whole, settings);
  if (column.categorical) {
    scan_categories(histogram, counts, column, node, scan, units, best);
  } else if (counts || node.bounded || settings.random_thresholds) {
    scan_careful(histogram, counts, column, node, scan, settings, best);
  } else {
    const double threshold = settings.random_strength > 0 || rival == 0 ? 0 : std::max(floor, whole + rival);
    scan_fast(histogram, column, node, scan, settings, units, threshold, best);
  }
  finish(best, floor, whole, node.draw, settings);
  return best;
}

Rounding::Rounding(const SplitSettings& settings, const Units& units)
    : unit(units.force / units.curvature * units.force) {
  // Within these, no product of rounded numbers overflows or loses bits that matter.
  constexpr double kLargestL2 = 0x1p40, kLargestCurvature = 0x1p30, kLargestUnit = 0x1p500;
  const double penalty = settings.l2 / units.curvature,
               least = std::max(1.0, std::ceil(settings.min_curvature / units.curvature));
  known = settings.l1 == 0 && penalty <= kLargestL2 && least <= kLargestCurvature && unit < kLargestUnit &&
          unit > 1 / kLargestUnit;
  if (known) min_curvature = static_cast<std::int32_t>(least), l2 = static_cast<float>(penalty);
}

GainBounds::GainBounds(const NodeInfo& node, const SplitSettings& settings, const Units& units)
    : rounding_(settings, units), whole_(squared(Scan::sums(node.total, units), settings)) {
  floor_ = least_gain(whole_, settings);
  if (node.bounded || settings.random_thresholds || settings.random_strength > 0) rounding_.known = false;
  if (rounding_.known) rounded_ = rounding_.node(node.total);
}

double GainBounds::of(const NarrowCell* histogram, const ColumnInfo& column) const {
  if (!rounding_.known || column.categorical) return std::numeric_limits<double>::infinity();
  float best = rounded_best(histogram, column.bins, 0, rounded_);
  if (column.missing && histogram[255] != 0) {
    best = std::max(best, rounded_best(histogram, column.bins, histogram[255], rounded_));
  }
  const double sides = (1 + kRoundedError) * rounding_.unit * best;
  return sides > floor_ ? sides - whole_ : 0;
}

double side_worth(const WideCell& total, std::size_t documents, const SplitSettings& settings, const Units& units) {
  const Sums sums = Scan::sums(total, units);
  if (!(sums.curvature >= settings.min_curvature) || documents < settings.min_documents) return 0;
  const double force = soft(sums.force, settings.l1);
  return force * force / (sums.curvature + settings.l2);
}

template <class Cell>
void add_worth(const Cell* histogram, const std::int64_t* counts, const ColumnInfo& column, const WideCell& total,
               const SplitSettings& settings, const Units& units, CutWorth& worth) {
  const Cell missing = column.missing ? histogram[255] : Cell{};
  const std::size_t whole = (column.bins + 7u) / 8 * 8;
  if (!worth.begun) {
    std::fill_n(worth.right, whole, 0.0);
    worth.begun = true, worth.missing = false;
  }
  if (missing != Cell{} && !worth.missing) {
    std::copy_n(worth.right, whole, worth.left);
    worth.missing = true;
  }
  const auto add = [&](bool missing_left, double* sums) {
    const Cell first = missing_left ? missing : Cell{};
    const Sums node = Scan::sums(total, units);
    if (!counts) return add_cuts(histogram, column.bins, first, node, settings, units, sums);
    const std::int64_t all = std::accumulate(counts, counts + column.bins, counts[255]);
    add_cuts(histogram, {counts, all, missing_left ? counts[255] : 0}, column.bins, first, node, settings, units, sums);
  };
  add(false, worth.right);
  if (worth.missing) add(true, worth.left);
}

Split best_of_cuts(const CutWorth& worth, double whole, const ColumnInfo& column, std::uint64_t draw,
                   const SplitSettings& settings) {
  Split best;
  best.feature = column.feature, best.column = column.column;
  if (!worth.begun) return best;
  const double floor = best.gain = least_gain(whole, settings);
  std::size_t first = 0, last = column.bins;
  if (settings.random_thresholds && last > 1) {  // one cut, drawn
    first = (splitmix64(draw ^ (column.feature * 2ull + 1)) >> 11) % (last - 1), last = first + 1;
  }
  keep_first_largest(best, worth.right, first, last, false);
  if (worth.missing) keep_first_largest(best, worth.left, first, last, true);
  finish(best, floor, whole, draw, settings);
  return best;
}

void add_worth(const NarrowCell* histogram, const ColumnInfo& column, const RoundedNode& node, RoundedWorth& worth) {
  const NarrowCell missing = column.missing ? histogram[255] : 0;
  const std::size_t whole = (column.bins + 7u) / 8 * 8;
  if (!worth.begun) {
    std::fill_n(worth.right, whole, 0.0f);
    worth.begun = true, worth.missing = false;
  }
  if (missing != 0 && !worth.missing) {
    std::copy_n(worth.right, whole, worth.left);
    worth.missing = true;
  }
  add_rounded(histogram, column.bins, 0, node, worth.right);
  if (worth.missing) add_rounded(histogram, column.bins, missing, node, worth.left);
}

Split bound_of_cuts(const RoundedWorth& worth, std::size_t nodes, double whole, const ColumnInfo& column,
                    std::uint64_t draw, const SplitSettings& settings, const Rounding& rounding) {
  Split best;
  best.feature = column.feature, best.column = column.column;
  if (!worth.begun || column.bins == 0) return best;
  float most = *std::max_element(worth.right, worth.right + column.bins);
  if (worth.missing) most = std::max(most, *std::max_element(worth.left, worth.left + column.bins));
  const double error = kRoundedError + 0x1p-24 * static_cast<double>(nodes);  // each node adds one more step
  best.gain = (1 + 2 * error) * rounding.unit * most;
  finish(best, least_gain(whole, settings), whole, draw, settings);
  return best;
}

template Split scan_column(const NarrowCell*, const std::int64_t*, const ColumnInfo&, const NodeInfo&,
                           const SplitSettings&, const Units&, double);
template void add_worth(const NarrowCell*, const std::int64_t*, const ColumnInfo&, const WideCell&,
                        const SplitSettings&, const Units&, CutWorth&);
template Split scan_column(const WideCell*, const std::int64_t*, const ColumnInfo&, const NodeInfo&,
                           const SplitSettings&, const Units&, double);
template void add_worth(const WideCell*, const std::int64_t*, const ColumnInfo&, const WideCell&, const SplitSettings&,
                        const Units&, CutWorth&);

}  // namespace podium
