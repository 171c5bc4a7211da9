// The value of every cut of a column of bins, several at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trees/histogram.hpp"

namespace podium {

struct SplitSettings;

// Force and curvature of some documents.
struct Sums {
  double force, curvature;
};

struct BestCut {
  double sides = -1;      // the value of both sides, before the node's own is subtracted; -1: no cut is allowed
  std::size_t place = 0;  // the last bin on the left, the first of equal ones; the number of bins if no cut is allowed
};

// Numbers of documents: of each bin, in all, and on the left of all cuts. There is room for 256 bins.
struct Counts {
  const std::int64_t* of_bins;
  std::int64_t all, first;
};

// Of the cuts behind each of the first `bins` bins, the best one whose sides have enough curvature. `first` is on the
// left of all of them. The histogram has room for 256 cells, of which at most about so many as there are `documents`
// are not empty. A cut that is clearly below the threshold need not be found.
template <class Cell>
BestCut best_cut(const Cell* histogram, std::size_t bins, std::size_t documents, Cell first, const Sums& node,
                 const SplitSettings& settings, const Units& units, double threshold);

// Adds the value of both sides of every cut to `worth`, which has room for 256; a side without enough curvature has
// value 0. Numbers behind the last bin mean nothing.
template <class Cell>
void add_cuts(const Cell* histogram, std::size_t bins, Cell first, const Sums& node, const SplitSettings& settings,
              const Units& units, double* worth);

// The same, but a side with fewer documents than settings.min_documents has value 0 too.
template <class Cell>
void add_cuts(const Cell* histogram, const Counts& counts, std::size_t bins, Cell first, const Sums& node,
              const SplitSettings& settings, const Units& units, double* worth);

}  // namespace podium
