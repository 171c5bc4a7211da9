// What LambdaRank's force needs of the labels of a query, whatever the scores: for one data set it is computed once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/metric.hpp"
#include "metrics/ranked.hpp"

namespace podium {

struct ForceSpec;
struct ForceTable;

struct LabelFacts {
  bool plain = false;         // labels are small whole numbers, and a greater one never has a smaller gain
  bool zero = false;          // pairs have no weight
  std::uint8_t levels = 0;    // one more than the greatest label
  std::uint32_t counted = 0;  // positions with a weight
  double norm = 1;            // by which weights are divided
  std::array<std::uint32_t, LabelSummary::small> counts{};  // documents of each level
};

// Working memory, kept from query to query.
struct LabelScratch {
  LabelSummary summary;
  RankedQuery ranked;
  MetricScratch metric;
};

// Finds the facts about a query for an additive metric and, if they are plain, lists its documents by level, those of a
// level in their order. Returns the weights of positions, valid until the scratch is used again.
std::span<const double> describe_labels(const Metric& metric, std::span<const double> labels, LabelScratch& scratch,
                                        LabelFacts& facts, std::uint32_t* by_level);

// The facts about all queries of a data set, and their documents by level; or nothing, if they cannot be used or take
// too much memory.
struct LabelTable {
  std::vector<LabelFacts> facts;
  std::vector<std::uint32_t> by_level;
};

LabelTable describe_labels(const ForceSpec& spec, const Metric& metric, const ForceTable& table);

}  // namespace podium
