// The specification of a metric: a plain value, made once from its printable name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "unreachable.hpp"

namespace podium {

enum class Gain { exponential, linear, table };        // 2^label − 1 · label · given by integer label
enum class Empty { zero, one, skip };                  // what a query without a relevant document counts as
enum class Ties { input, trec_eval, average };         // order given · document id descending · expected value
enum class Convention { textbook, letor, trec_eval };  // for definitions that differ

inline constexpr std::size_t whole_list = std::numeric_limits<std::size_t>::max();

struct MetricKernel;

// A metric from outside the core: a function of one query of n documents, best score first. It returns the value, or
// NaN if the query has none. It may be called from several threads at once, and may throw.
struct CustomMetric {
  double (*value)(void* context, std::int64_t n, const double* scores, const double* labels) = nullptr;
  std::shared_ptr<void> context;  // kept for as long as the metric may be computed
};

struct MetricSpec {
  const MetricKernel* kernel = nullptr;  // never null once it is used
  std::size_t cutoff = whole_list;
  Gain gain = Gain::exponential;
  std::vector<double> gain_table = {};
  std::map<std::string, double, std::less<>> numbers = {};  // parameters that are numbers, by name
  Empty empty = Empty::zero;
  Ties ties = Ties::input;
  Convention convention = Convention::textbook;
  CustomMetric custom = {};

  double number(std::string_view name) const { return numbers.find(name)->second; }
};

// The labels a metric is defined on.
struct LabelRange {
  double least = -std::numeric_limits<double>::infinity();
  double greatest = std::numeric_limits<double>::infinity();
  bool whole = false;
};

// How a metric is computed.
enum class MetricFamily {
  additive,           // a sum over positions of the gain of the document there times a weight of the position
  average_precision,  // MAP
  reciprocal_rank,    // MRR
  cascade,            // ERR
  binary_preference,  // bpref
  pairs,              // counts pairs of documents, so it sees score ties but no order among tied documents
  list,               // any function of the ranked list; swap deltas compute it again
};

struct AdditiveKernel;
struct PairsKernel;

inline LabelRange any_label(const MetricSpec&) {
  return {};
}

// One row of the table of metrics: everything that the core knows about one. Each family keeps its rows in its own
// file.
struct MetricKernel {
  std::string_view name;
  MetricFamily family;
  LabelRange (*labels)(const MetricSpec& spec) = any_label;
  const AdditiveKernel* additive = nullptr;  // of the additive family
  const PairsKernel* pairs = nullptr;        // of metrics over pairs
  // Of the list family: the value given scores and labels by position, or NaN if the query has none.
  double (*list)(const MetricSpec& spec, std::size_t n, const double* scores, const double* labels) = nullptr;
};

inline bool is_additive(const MetricSpec& spec) {
  return spec.kernel->family == MetricFamily::additive;
}
inline bool counts_pairs(const MetricSpec& spec) {
  return spec.kernel->family == MetricFamily::pairs;
}

}  // namespace podium
