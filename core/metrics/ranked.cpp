#include "metrics/ranked.hpp"

#include <algorithm>
#include <cmath>

namespace podium {

LabelSummary summarise(std::span<const double> labels) {
  LabelSummary out;
  if (labels.empty()) return out;
  double least = labels[0], greatest = labels[0], zero = 0, fraction = 0;
  for (const double label : labels) {
    least = label < least ? label : least;
    greatest = label > greatest ? label : greatest;
    zero += label * 0.0;  // NaN once a label is not finite
  }
  out.least = least, out.greatest = greatest, out.finite = zero == 0;
  out.integral = out.finite && least >= 0 && greatest < static_cast<double>(LabelSummary::small);
  if (!out.integral) return out;
  // Two histograms, so that equal neighbours do not wait for each other's store.
  std::array<std::array<std::uint32_t, LabelSummary::small>, 2> counts{};
  std::size_t i = 0;
  for (; i + 1 < labels.size(); i += 2) {
    const int a = static_cast<int>(labels[i]), b = static_cast<int>(labels[i + 1]);
    fraction += (labels[i] - a) + (labels[i + 1] - b);
    ++counts[0][a], ++counts[1][b];
  }
  if (i < labels.size()) {
    const int a = static_cast<int>(labels[i]);
    fraction += labels[i] - a;
    ++counts[0][a];
  }
  out.integral = fraction == 0;
  const auto levels = static_cast<std::size_t>(greatest) + 1;
  for (std::size_t level = 0; level < levels; ++level) out.counts[level] = counts[0][level] + counts[1][level];
  return out;
}

// The best `depth` keys in front, in order. A short prefix is kept sorted while the rest streams past it.
template <class Before>
void RankedQuery::select(std::size_t depth, Before before) {
  if (depth * 4 > keys_.size() || depth > 128) {
    std::sort(keys_.begin(), keys_.end(), before);
    return;
  }
  Key* const best = keys_.data();
  std::sort(best, best + depth, before);
  for (std::size_t i = depth; i < keys_.size(); ++i) {
    const Key key = keys_[i];
    if (!before(key, best[depth - 1])) continue;
    std::size_t place = depth - 1;
    for (; place > 0 && before(key, best[place - 1]); --place) best[place] = best[place - 1];
    best[place] = key;
  }
}

void RankedQuery::rank(const QueryView& query, const LabelSummary& summary, Ties ties, std::size_t depth) {
  query_ = query;
  summary_ = &summary;
  const std::size_t documents = query.scores.size();
  keys_.clear();
  keys_.reserve(documents);
  for (std::size_t i = 0; i < documents; ++i) {
    if (query.retrieved != nullptr && query.retrieved[i] == 0) continue;
    keys_.push_back({query.scores[i], static_cast<std::uint32_t>(i)});
  }
  size_ = keys_.size();
  depth = std::min(depth, size_);
  if (depth == 0) {
    order_.clear(), labels_.clear(), group_ends_.clear();
    return;
  }
  if (ties == Ties::trec_eval && query.tie_order != nullptr) {
    select(depth, [tie = query.tie_order](const Key& a, const Key& b) {
      if (a.score != b.score) return a.score > b.score;
      return tie[a.document] != tie[b.document] ? tie[a.document] > tie[b.document] : a.document < b.document;
    });
  } else {
    select(depth,
           [](const Key& a, const Key& b) { return a.score != b.score ? a.score > b.score : a.document < b.document; });
  }
  order_.resize(depth), labels_.resize(depth);
  for (std::size_t p = 0; p < depth; ++p) {
    order_[p] = keys_[p].document;
    labels_[p] = query.labels[keys_[p].document];
  }
  group_ends_.clear();
  if (depth < size_) return;
  group_ends_.resize(depth);
  for (std::size_t p = depth; p-- > 0;) {
    const bool last = p + 1 == depth || keys_[p].score != keys_[p + 1].score;
    group_ends_[p] = last ? static_cast<std::uint32_t>(p + 1) : group_ends_[p + 1];
  }
}

std::size_t RankedQuery::count_relevant(double from) const {
  if (summary_->integral) {
    std::size_t relevant = 0;
    const auto levels = static_cast<std::size_t>(summary_->greatest) + 1;
    for (std::size_t level = 0; level < levels; ++level) {
      if (static_cast<double>(level) >= from) relevant += summary_->counts[level];
    }
    return relevant;
  }
  return static_cast<std::size_t>(
      std::count_if(query_.labels.begin(), query_.labels.end(), [from](double label) { return label >= from; }));
}

}  // namespace podium
