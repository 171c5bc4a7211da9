// What a metric is asked to be: a plain value, made once from its printable name.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "unreachable.hpp"

namespace podium {

enum class Measure {
  ndcg,
  mean_ndcg,
  dcg,
  map,
  mrr,
  wta,
  precision,
  recall,
  err,
  bpref,
  auc,
  pairwise_error,
  pairwise_correct,
  kendall_tau,
  rbp,
};
enum class Gain { exponential, linear, table };        // 2^label − 1 · label · given by integer label
enum class Empty { zero, one, skip };                  // what a query without a relevant document counts as
enum class Ties { input, trec_eval, average };         // order given · document id descending · expected value
enum class Convention { textbook, letor, trec_eval };  // where the definitions in use differ

inline constexpr std::size_t whole_list = std::numeric_limits<std::size_t>::max();

struct MetricSpec {
  Measure measure = Measure::ndcg;
  std::size_t cutoff = whole_list;
  Gain gain = Gain::exponential;
  std::vector<double> gain_table = {};
  double relevant_from = 1.0;  // a label of at least this is relevant
  double largest_label = 4.0;  // ERR: the label of certain satisfaction
  double persistence = 0.8;    // RBP: the chance of looking at one more document
  Empty empty = Empty::zero;
  Ties ties = Ties::input;
  Convention convention = Convention::textbook;
};

// How a metric is computed. Every measure belongs to one family.
enum class MetricFamily {
  additive,           // a sum over positions of the gain of the document there times a weight of the position
  average_precision,  // MAP
  reciprocal_rank,    // MRR
  cascade,            // ERR
  binary_preference,  // bpref
  pairs,              // counts pairs of documents, so it sees score ties but no order among tied documents
};

inline MetricFamily family_of(Measure measure) {
  switch (measure) {
    case Measure::ndcg:
    case Measure::mean_ndcg:
    case Measure::dcg:
    case Measure::wta:
    case Measure::precision:
    case Measure::recall:
    case Measure::rbp:
      return MetricFamily::additive;
    case Measure::map:
      return MetricFamily::average_precision;
    case Measure::mrr:
      return MetricFamily::reciprocal_rank;
    case Measure::err:
      return MetricFamily::cascade;
    case Measure::bpref:
      return MetricFamily::binary_preference;
    case Measure::auc:
    case Measure::pairwise_error:
    case Measure::pairwise_correct:
    case Measure::kendall_tau:
      return MetricFamily::pairs;
  }
  unreachable();
}

inline bool is_additive(Measure measure) {
  return family_of(measure) == MetricFamily::additive;
}
inline bool counts_pairs(Measure measure) {
  return family_of(measure) == MetricFamily::pairs;
}

}  // namespace podium
