// PRank's rule: a score between rising thresholds is a level, and a wrong level moves the score and the thresholds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/dense.hpp"
#include "net/net.hpp"

namespace podium {

// Documents per block: their inputs fit into the cache, and threads share the work on them.
inline constexpr std::size_t kOnlineBlock = 64;

// Documents to learn from, one after the other in the order of `rows`. A level is at most the number of thresholds.
struct OnlineData {
  std::span<const float> features;
  InputMap map;
  std::span<const std::int32_t> levels;
  std::span<const std::uint64_t> keys;  // one key per document, which does not depend on the order of the data
  std::span<const std::int64_t> rows;

  std::size_t width() const { return map.center.size(); }
};

// Counts of a pass: documents taken, how many of them had the wrong level, and by how many levels in total.
struct Tally {
  std::uint64_t taken = 0, mistakes = 0, levels_off = 0;

  void operator+=(const Tally& other) {
    taken += other.taken, mistakes += other.mistakes, levels_off += other.levels_off;
  }
};

// One document: Σ τ_r, and b_r −= τ_r, where y_r = +1 if the level is above r, else −1, and τ_r = y_r if
// (s − b_r) · y_r ≤ 0, else 0; all of them are 0 if the level is right. The thresholds are whole numbers, so that one
// that lies above another stays there. [Crammer and Singer 2002]
inline double prank_step(double score, std::size_t level, std::size_t count, double* thresholds, Tally& tally) {
  std::size_t found = 0;
  while (found < count && !(score - thresholds[found] < 0)) ++found;
  ++tally.taken;
  if (found == level) return 0;
  ++tally.mistakes;
  tally.levels_off += found > level ? found - level : level - found;
  double sum = 0;
  for (std::size_t r = 0; r < count; ++r) {
    const double y = level > r ? 1.0 : -1.0;
    if ((score - thresholds[r]) * y <= 0) {
      sum += y;
      thresholds[r] -= y;
    }
  }
  return sum;
}

// The inputs of a block of documents, [documents × stride]; padding is zero and stays zero.
class OnlineBlock {
 public:
  explicit OnlineBlock(std::size_t width) : width_(width), inputs_(kOnlineBlock * row_stride(width), 0.0) {}

  std::size_t stride() const { return row_stride(width_); }
  double* row(std::size_t i) { return inputs_.data() + i * stride(); }
  void fill(const float* features, std::span<const std::int64_t> rows, const InputMap& map) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      dense_kernels().standardize(1, width_, map.rows(features + static_cast<std::size_t>(rows[i]) * width_), row(i),
                                  stride());
    }
  }

 private:
  std::size_t width_;
  std::vector<double> inputs_;
};

}  // namespace podium
