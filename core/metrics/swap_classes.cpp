#include "metrics/swap_classes.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "metrics/precision.hpp"

namespace podium {
namespace {

// Visiting a single partner costs about as much as this many inside a row.
constexpr std::size_t kCostOfOne = 7;

struct RowChange {
  double scale, sign, step, upper, base;
  const double *lower, *between, *belongs;
};

// If `belongs` is 1 the delta is written, or added to an existing one; if it is 0 nothing changes.
template <bool kAdd>
PODIUM_INLINE void change_row(const RowChange& c, std::size_t begin, std::size_t end, double* out) {
  for (std::size_t q = begin; q < end; ++q) {
    const double delta = c.scale * (c.sign * (c.lower[q] - c.upper) + c.step * (c.between[q] - c.base)) * c.belongs[q];
    out[q] = kAdd ? out[q] + delta : delta;
  }
}

void row_portable(const RowChange& c, std::size_t begin, std::size_t end, double* out, bool add) {
  add ? change_row<true>(c, begin, end, out) : change_row<false>(c, begin, end, out);
}
PODIUM_AVX2 void row_avx2(const RowChange& c, std::size_t begin, std::size_t end, double* out, bool add) {
  add ? change_row<true>(c, begin, end, out) : change_row<false>(c, begin, end, out);
}

}  // namespace

std::optional<std::span<const std::uint32_t>> few_past(std::size_t p, std::size_t size,
                                                       std::span<const std::uint32_t> positions) {
  const auto after = std::upper_bound(positions.begin(), positions.end(), p);
  const auto count = static_cast<std::size_t>(positions.end() - after);
  if (count * kCostOfOne > size - p - 1) return std::nullopt;
  return positions.last(count);
}

template <class ClassOf>
void ClassSwaps::classify(std::size_t n, std::size_t cutoff, double scale, const ClassOf& class_of) {
  size_ = n, depth_ = std::min(n, cutoff), scale_ = scale;
  classes_.resize(n);
  changes_ = {};
  for (auto& members : members_) members.clear();
  for (auto& belongs : belongs_) belongs.assign(n, 0.0);
  for (std::size_t p = 0; p < n; ++p) {
    const std::size_t own = class_of(p);
    classes_[p] = static_cast<std::uint8_t>(own), belongs_[own][p] = 1;
    members_[own].push_back(static_cast<std::uint32_t>(p));
  }
}

// AP's summand at p is hit_p = (relevant above + 1) / (p + 1) if the document there is relevant. When a relevant
// document moves down from p to q, the relevant ones between lose one above them, 1 / rank each; when one moves up they
// gain one. First: hit; second: the summand of a relevant document that comes to q from above; third: Σ 1 / rank of the
// relevant documents above. All summands are 0 below the cutoff.
void ClassSwaps::prepare_map(const Metric& metric, const RankedQuery& query, std::size_t cutoff) {
  const std::size_t n = query.size();
  const auto labels = query.labels();
  classify(n, cutoff, 1 / static_cast<double>(metric.count_relevant(query)),
           [&](std::size_t p) { return static_cast<std::size_t>(metric.relevant(labels[p])); });
  first_.assign(n, 0.0), second_.assign(n, 0.0), third_.assign(n + 1, 0.0);
  std::size_t above = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const bool relevant = classes_[p] > 0;
    const double rank = static_cast<double>(p + 1);
    third_[p + 1] = third_[p];
    if (p < depth_) {
      first_[p] = static_cast<double>(above + 1) / rank, second_[p] = static_cast<double>(above) / rank;
      if (relevant) third_[p + 1] += 1 / rank;
    }
    above += relevant;
  }
  change(1, 0) = {1, -1, second_.data(), first_.data(), third_.data()};
  change(0, 1) = {-1, 1, first_.data(), first_.data(), third_.data()};
}

// RR changes if a relevant document comes above the first one, or if the first one moves down: then the second one, or
// its new place, is the first. First: by how much it rises if a relevant document comes to p; second: RR when the first
// one is at q; third: RR without a swap; fourth: zeros.
void ClassSwaps::prepare_mrr(const Metric& metric, const RankedQuery& query, std::size_t cutoff) {
  const std::size_t n = query.size();
  const auto labels = query.labels();
  classify(n, cutoff, 1.0, [&](std::size_t p) { return static_cast<std::size_t>(metric.relevant(labels[p])); });
  const auto reciprocal = [&](std::size_t p) { return p < depth_ ? 1 / static_cast<double>(p + 1) : 0.0; };
  const std::size_t first = members_[1].empty() ? n : members_[1][0];
  const std::size_t second = members_[1].size() < 2 ? n : members_[1][1];
  first_.assign(n, 0.0), second_.resize(n), third_.assign(n, reciprocal(first)), fourth_.assign(n + 1, 0.0);
  for (std::size_t p = 0; p < n; ++p) {
    if (p < first) first_[p] = reciprocal(p) - reciprocal(first);
    second_[p] = reciprocal(std::min(second, p));
  }
  change(0, 1) = {-1, 0, fourth_.data(), first_.data(), fourth_.data()};
  change(1, 0) = {1, 0, second_.data(), third_.data(), fourth_.data()};  // at p = first; the others are below the depth
  depth_ = std::min(depth_, first + 1);
}

// A relevant document with `above` judged nonrelevant ones above it adds preference(above); one more of these takes
// 1 / min(R, N) from it as long as there are fewer than R, one less gives it back. First: what a relevant document adds
// at p; second: what it adds there when it changed places with a nonrelevant one above; third and fourth: of the
// relevant documents above, how many lose by one more and how many gain by one less.
void ClassSwaps::prepare_bpref(const Metric& metric, const RankedQuery& query, std::size_t) {
  const std::size_t n = query.size(), relevant = metric.count_relevant(query);
  const std::size_t nonrelevant = count_nonrelevant(metric, query);
  classify(n, n, 1 / static_cast<double>(relevant),
           [&](std::size_t p) { return static_cast<std::size_t>(judgment(metric, query, p)); });
  first_.resize(n), second_.resize(n), third_.assign(n + 1, 0.0), fourth_.assign(n + 1, 0.0);
  constexpr auto kUnjudged = static_cast<std::size_t>(Judgment::unjudged);
  constexpr auto kNonrelevant = static_cast<std::size_t>(Judgment::nonrelevant);
  constexpr auto kRelevant = static_cast<std::size_t>(Judgment::relevant);
  std::size_t above = 0;
  for (std::size_t p = 0; p < n; ++p) {
    const bool is_relevant = classes_[p] == kRelevant;
    first_[p] = preference(above, relevant, nonrelevant), second_[p] = preference(above + 1, relevant, nonrelevant);
    third_[p + 1] = third_[p] + (is_relevant && above < relevant);
    fourth_[p + 1] = fourth_[p] + (is_relevant && above <= relevant);
    above += classes_[p] == kNonrelevant;
  }
  const double step = 1 / static_cast<double>(std::max<std::size_t>(1, std::min(relevant, nonrelevant)));
  const double *add = first_.data(), *after = second_.data(), *lose = third_.data(), *gain = fourth_.data();
  change(kRelevant, kNonrelevant) = {1, -step, after, add, lose};
  change(kNonrelevant, kRelevant) = {-1, step, add, add, gain};
  change(kRelevant, kUnjudged) = {1, 0, add, add, lose};
  change(kUnjudged, kRelevant) = {-1, 0, add, add, lose};
  change(kNonrelevant, kUnjudged) = {0, step, add, add, gain};
  change(kUnjudged, kNonrelevant) = {0, -step, add, add, lose};
}

// K = Σ sgn·sgn falls by two for each place that a relevant document loses to one that is not. First: twice the
// position; second: zeros.
void ClassSwaps::prepare_auc(std::span<const std::uint32_t> levels, double slope) {
  const std::size_t n = levels.size();
  classify(n, n, slope, [&](std::size_t p) { return std::size_t{levels[p]}; });
  first_.resize(n), second_.assign(n + 1, 0.0);
  for (std::size_t p = 0; p < n; ++p) first_[p] = 2 * static_cast<double>(p);
  change(1, 0) = {-1, 0, first_.data(), first_.data(), second_.data()};
  change(0, 1) = {1, 0, first_.data(), first_.data(), second_.data()};
}

double ClassSwaps::pair(std::size_t upper, std::size_t lower) const {
  if (classes_[upper] == classes_[lower] || upper >= depth_) return 0.0;
  const Change& c = changes_[classes_[upper] * kMostClasses + classes_[lower]];
  return scale_ * (c.sign * (c.lower[lower] - c.upper[upper]) + c.step * (c.between[lower] - c.between[upper + 1]));
}

void ClassSwaps::row(std::size_t p, std::span<double> out) const {
  const std::size_t own = std::size_t{classes_[p]}, begin = p + 1;
  bool written = false;
  for (std::size_t other = 0; other < kMostClasses && p < depth_; ++other) {
    if (other == own || members_[other].empty()) continue;
    const Change& c = changes_[own * kMostClasses + other];
    const RowChange change{scale_,           c.sign,  c.step,    c.upper[p],
                           c.between[begin], c.lower, c.between, belongs_[other].data()};
    (has_avx2() ? row_avx2 : row_portable)(change, begin, size_, out.data(), written);
    written = true;
  }
  if (!written) std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), 0.0);
}

std::optional<std::span<const std::uint32_t>> ClassSwaps::few_partners(std::size_t p) const {
  if (p >= depth_) return std::span<const std::uint32_t>{};
  const std::vector<std::uint32_t>* partners = nullptr;
  for (std::size_t other = 0; other < kMostClasses; ++other) {
    if (other == std::size_t{classes_[p]} || members_[other].empty()) continue;
    if (partners != nullptr) return std::nullopt;
    partners = &members_[other];
  }
  return partners == nullptr ? std::span<const std::uint32_t>{} : few_past(p, size_, *partners);
}

}  // namespace podium
