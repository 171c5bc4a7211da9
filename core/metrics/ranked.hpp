// One query in the order of its scores: the only sort of the core, with its tie rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metrics/order.hpp"
#include "metrics/spec.hpp"

namespace podium {

// One query in the caller's arrays. A null flag pointer means that every document has the flag.
struct QueryView {
  std::span<const double> scores;           // no NaN
  std::span<const double> labels;           // finite; 0 if not judged
  const std::uint8_t* judged = nullptr;     // 0: this document has no label
  const std::uint8_t* retrieved = nullptr;  // 0: judged but not ranked; counts in ideals and totals only
  const std::int64_t* tie_order = nullptr;  // Ties::trec_eval: among equal scores the greater comes first
};

// The labels of a query without regard to order, gathered in one pass.
struct LabelSummary {
  static constexpr std::size_t small = 32;
  double least = 0, greatest = 0;
  bool finite = true;
  bool integral = true;                       // every label is a whole number in [0, small)
  std::array<std::uint32_t, small> counts{};  // documents of each label, filled if integral
};

void summarize(std::span<const double> labels, LabelSummary& out);

class RankedQuery {
 public:
  // Sorts the retrieved documents, highest score first. Only the first `depth` positions are needed; asking
  // for fewer than all lets the sort stop early, and then there are no tie groups.
  void rank(const QueryView& query, const LabelSummary& summary, Ties ties, std::size_t depth);

  // The first `depth` positions as rank() gives them, then all other documents in the order given; there are no tie
  // groups, and equal scores keep their order. Used if only the order of the first ones matters.
  void rank_first(const QueryView& query, const LabelSummary& summary, std::size_t depth);

  // Takes a query without ranking it, for what does not depend on the order.
  void describe(const QueryView& query, const LabelSummary& summary) {
    query_ = query, summary_ = &summary, size_ = query.scores.size();
    order_.clear(), labels_.clear(), group_ends_.clear();
  }

  std::size_t size() const { return size_; }                            // documents that are ranked
  std::span<const std::uint32_t> order() const { return order_; }       // position → document
  std::span<const double> labels() const { return labels_; }            // by position
  std::span<const double> all_labels() const { return query_.labels; }  // by document, including those not retrieved
  const LabelSummary& summary() const { return *summary_; }
  // The position after the last one with the score of position p. Full sorts only.
  std::span<const std::uint32_t> group_ends() const { return group_ends_; }
  bool judged(std::uint32_t document) const { return query_.judged == nullptr || query_.judged[document] != 0; }
  std::size_t count_relevant(double from) const;
  // Scores and labels of all documents by position. Those not retrieved come last, with score −∞. Full sorts only.
  void list(std::vector<double>& scores, std::vector<double>& labels) const;

 private:
  struct Key {
    double score;
    std::int64_t tie;
    std::uint32_t place;
  };
  // order_ = the places of these scores, best first.
  void sort(std::span<const double> scores, const std::int64_t* tie_order);
  std::uint32_t document(std::size_t place) const {
    return query_.retrieved == nullptr ? static_cast<std::uint32_t>(place) : documents_[place];
  }

  QueryView query_;
  const LabelSummary* summary_ = nullptr;
  std::size_t size_ = 0;
  std::vector<Key> keys_;
  std::vector<double> scores_;            // of the retrieved documents, if some are not
  std::vector<std::uint32_t> documents_;  // the retrieved documents
  OrderScratch scratch_;
  std::vector<std::uint32_t> order_, group_ends_;
  std::vector<double> labels_;
};

}  // namespace podium
