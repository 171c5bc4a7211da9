// Features as small numbers. A value's bin is the number of thresholds below it; a missing value has a bin of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podium {

inline constexpr std::size_t kMostBins = 255;  // of values
inline constexpr std::uint8_t kMissingBin = 255;

// The bins of one feature. `cuts` rise: of a number, bin b holds the values in (cuts[b − 1], cuts[b]]; of a category,
// bin b is the value cuts[b], and any other value is missing.
struct FeatureBins {
  std::vector<float> cuts;
  bool categorical = false;
  bool has_missing = false;  // whether the sample had a missing value

  std::size_t bins() const { return categorical ? cuts.size() : cuts.size() + 1; }
  std::uint8_t bin(float value) const;
};

// A table of features, row after row.
struct FeatureTable {
  const float* values;
  std::size_t rows, features;
};

// Chooses the cuts of every feature from a sample of rows, each with as many features as the result. With at most
// `max_bins` distinct values each has a bin and the cuts lie half way between them; with more, bins hold about equally
// many rows, and a value that fills one has one of its own, except for less than half a bin of the values just below.
// `categorical` has one number per feature, or is empty.
std::vector<FeatureBins> choose_bins(std::span<const float* const> sample, std::size_t features, std::size_t max_bins,
                                     std::span<const std::uint8_t> categorical, int num_threads);

// The cuts of many features, laid out for the search of many values.
class Binner {
 public:
  explicit Binner(std::span<const FeatureBins> features);
  static constexpr std::size_t kTile = 64;  // rows that are best binned together
  // Writes the bins of rows [begin, begin + count) of the table's feature f, by the k-th of the cuts.
  void bin(const FeatureTable& table, std::size_t k, std::size_t f, std::size_t begin, std::size_t count,
           std::uint8_t* out) const {
    bin_values(k, table.values + begin * table.features + f, static_cast<std::ptrdiff_t>(table.features), count, out);
  }
  // Writes the bins of `count` values that are `stride` apart, by the k-th of the cuts. Doubles count as the nearest
  // float.
  template <class T>
  void bin_values(std::size_t k, const T* values, std::ptrdiff_t stride, std::size_t count, std::uint8_t* out) const;

 private:
  struct Search {
    float pivots[16];  // the last cut of each group of 16, except of the last group
    float cuts[256];   // then +∞
    std::size_t count;
    bool categorical;
  };
  std::vector<Search> searches_;
};

}  // namespace podium
