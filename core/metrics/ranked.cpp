#include "metrics/ranked.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace podium {

namespace {

void summarize_any(std::span<const double> labels, LabelSummary& out) {
  out = {};
  out.integral = false;
  out.least = out.greatest = labels[0];
  for (const double label : labels) {
    out.least = std::min(out.least, label);
    out.greatest = std::max(out.greatest, label);
    out.finite &= std::isfinite(label);
  }
}

}  // namespace

void summarize(std::span<const double> labels, LabelSummary& out) {
  out = {};
  if (labels.empty()) return;
  // Added to 2^52 a label leaves its nearest whole number in the low bits: there is no conversion, so the loop is
  // vectorized.
  constexpr double shift = 0x1p52;
  constexpr std::size_t most = 64;
  std::array<std::uint64_t, most> levels;
  // Two histograms, so that equal neighbors do not wait for each other's store.
  std::array<std::uint32_t, LabelSummary::small> odd{};
  std::uint32_t seen = 0;
  for (std::size_t begin = 0; begin < labels.size(); begin += most) {
    const std::span<const double> chunk = labels.subspan(begin, std::min(most, labels.size() - begin));
    std::uint64_t all = 0, differs = 0;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const double shifted = chunk[i] + shift;
      levels[i] = std::bit_cast<std::uint64_t>(shifted) ^ std::bit_cast<std::uint64_t>(shift);
      all |= levels[i];
      differs |= std::bit_cast<std::uint64_t>(shifted - shift) ^ std::bit_cast<std::uint64_t>(chunk[i]);
    }
    if (all >= LabelSummary::small || differs != 0) return summarize_any(labels, out);
    std::size_t i = 0;
    for (; i + 1 < chunk.size(); i += 2) {
      ++out.counts[levels[i]], ++odd[levels[i + 1]];
      seen |= std::uint32_t{1} << levels[i] | std::uint32_t{1} << levels[i + 1];
    }
    if (i < chunk.size()) ++out.counts[levels[i]], seen |= std::uint32_t{1} << levels[i];
  }
  out.least = std::countr_zero(seen);
  out.greatest = 31 - std::countl_zero(seen);
  for (std::size_t level = 0; level < LabelSummary::small; ++level) out.counts[level] += odd[level];
}

void RankedQuery::sort(std::span<const double> scores, const std::int64_t* tie_order) {
  keys_.resize(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    keys_[i] = {scores[i], tie_order == nullptr ? 0 : tie_order[document(i)], static_cast<std::uint32_t>(i)};
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.tie != b.tie ? a.tie > b.tie : a.place < b.place;
  });
  order_.resize(scores.size());
  for (std::size_t p = 0; p < keys_.size(); ++p) order_[p] = keys_[p].place;
}

void RankedQuery::rank(const QueryView& query, const LabelSummary& summary, Ties ties, std::size_t depth) {
  query_ = query;
  summary_ = &summary;
  std::span<const double> scores = query.scores;
  if (query.retrieved != nullptr) {
    documents_.clear(), scores_.clear();
    for (std::size_t i = 0; i < query.scores.size(); ++i) {
      if (query.retrieved[i] != 0)
        documents_.push_back(static_cast<std::uint32_t>(i)), scores_.push_back(query.scores[i]);
    }
    scores = scores_;
  }
  size_ = scores.size();
  depth = std::min(depth, size_);
  const bool by_id = ties == Ties::trec_eval && query.tie_order != nullptr;
  const bool short_top = !by_id && depth > 0 && depth <= deepest_top && depth * 4 <= size_;
  if (!(short_top && order_top(scores, depth, scratch_, order_))) {
    if (!by_id && size_ <= longest_counted) {
      order_by_counting(scores, scratch_, order_);
    } else {
      sort(scores, by_id ? query.tie_order : nullptr);
    }
  }
  order_.resize(depth), labels_.resize(depth), group_ends_.resize(depth < size_ ? 0 : depth);
  for (std::size_t p = group_ends_.size(); p-- > 0;) {
    const bool last = p + 1 == depth || scores[order_[p]] != scores[order_[p + 1]];
    group_ends_[p] = last ? static_cast<std::uint32_t>(p + 1) : group_ends_[p + 1];
  }
  for (std::size_t p = 0; p < depth; ++p) {
    order_[p] = document(order_[p]);
    labels_[p] = query.labels[order_[p]];
  }
}

void RankedQuery::rank_first(const QueryView& query, const LabelSummary& summary, std::size_t depth) {
  const std::size_t n = query.scores.size();
  const bool short_top = query.retrieved == nullptr && depth > 0 && depth <= deepest_top && depth * 4 <= n;
  if (!(short_top && order_top(query.scores, depth, scratch_, order_))) {
    return rank(query, summary, Ties::input, n);
  }
  query_ = query, summary_ = &summary, size_ = n;
  std::uint32_t first[deepest_top];
  std::copy_n(order_.begin(), depth, first);
  std::sort(first, first + depth);
  order_.resize(n), labels_.resize(n), group_ends_.clear();
  std::size_t p = depth;
  std::uint32_t document = 0;
  for (std::size_t k = 0; k <= depth; ++k) {
    const auto end = k < depth ? first[k] : static_cast<std::uint32_t>(n);
    while (document < end) order_[p++] = document++;
    ++document;
  }
  for (p = 0; p < n; ++p) labels_[p] = query.labels[order_[p]];
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

void RankedQuery::list(std::vector<double>& scores, std::vector<double>& labels) const {
  scores.clear(), labels.assign(labels_.begin(), labels_.end());
  for (const std::uint32_t document : order_) scores.push_back(query_.scores[document]);
  if (query_.retrieved == nullptr) return;
  for (std::size_t i = 0; i < query_.labels.size(); ++i) {
    if (query_.retrieved[i] != 0) continue;
    scores.push_back(-std::numeric_limits<double>::infinity()), labels.push_back(query_.labels[i]);
  }
}

}  // namespace podium
