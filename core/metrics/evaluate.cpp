#include "metrics/evaluate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "scratch.hpp"

namespace podium {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool any_nan(std::span<const double> scores) {
  std::int64_t found = 0;  // as wide as a score, so that the loop is vectorized
  for (const double score : scores) found += score != score;
  return found != 0;
}

bool acceptable(const LabelSummary& summary, const LabelRange& range) {
  return summary.finite && summary.least >= range.least && summary.greatest <= range.greatest &&
         (!range.whole || summary.integral || (summary.least < 0 && range.least < 0));
}

// One ordering of a query serves all the metrics that share a tie rule.
struct Ordering {
  Ties ties;
  bool whole = false;
  std::size_t depth = 0;
  std::vector<std::size_t> metrics;
};

std::vector<Ordering> plan(std::span<const Metric> metrics, std::size_t longest) {
  std::vector<Ordering> orderings;
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    const Ties ties = metrics[m].spec().ties == Ties::trec_eval ? Ties::trec_eval : Ties::input;
    auto found = std::find_if(orderings.begin(), orderings.end(), [&](const Ordering& o) { return o.ties == ties; });
    if (found == orderings.end()) found = orderings.insert(found, Ordering{ties, false, 0, {}});
    found->metrics.push_back(m);
    const std::size_t depth = metrics[m].depth(whole_list);
    found->whole |= depth >= longest;
    found->depth = std::max(found->depth, depth);
  }
  return orderings;
}

// The working memory of one thread.
struct Workspace {
  RankedQuery ranked;
  MetricScratch scratch;
  LabelSummary summary;
};

void lower(std::atomic<std::size_t>& least, std::size_t value) {
  auto seen = least.load();
  while (value < seen && !least.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

QueryView QueryTable::query(std::size_t q) const {
  const auto begin = static_cast<std::size_t>(query_offsets[q]);
  const auto count = static_cast<std::size_t>(query_offsets[q + 1]) - begin;
  const auto shifted = [begin](auto* flags) { return flags == nullptr ? nullptr : flags + begin; };
  return {scores.subspan(begin, count), labels.subspan(begin, count), shifted(judged), shifted(retrieved),
          shifted(tie_order)};
}

std::size_t QueryTable::longest() const {
  std::size_t longest = 0;
  for (std::size_t q = 0; q < queries(); ++q) {
    longest = std::max(longest, static_cast<std::size_t>(query_offsets[q + 1] - query_offsets[q]));
  }
  return longest;
}

LabelRange label_range(const MetricSpec& spec) {
  LabelRange range = spec.kernel->labels(spec);
  if (spec.convention == Convention::trec_eval) range.least = -infinity;
  return range;
}

Refusal check(std::span<const MetricSpec> specs, const QueryView& query, std::size_t first_row) {
  using Kind = Refusal::Kind;
  for (std::size_t i = 0; i < query.scores.size(); ++i) {
    if (std::isnan(query.scores[i]) && (query.retrieved == nullptr || query.retrieved[i] != 0)) {
      return {Kind::score_is_nan, first_row + i, 0};
    }
    const double label = query.labels[i];
    if (!std::isfinite(label)) return {Kind::label_not_finite, first_row + i, 0};
    for (std::size_t m = 0; m < specs.size(); ++m) {
      const LabelRange range = label_range(specs[m]);
      if (label < range.least) return {Kind::label_too_small, first_row + i, m};
      if (label > range.greatest) return {Kind::label_too_large, first_row + i, m};
      if (range.whole && label >= 0 && label != std::floor(label)) return {Kind::label_not_whole, first_row + i, m};
    }
  }
  return {};
}

Refusal evaluate(std::span<const MetricSpec> specs, const QueryTable& table, int num_threads, double* values,
                 bool* empty) {
  const std::size_t queries = table.queries(), longest = table.longest();
  std::vector<Metric> metrics;
  LabelRange accepted{-infinity, infinity, false};
  for (const MetricSpec& spec : specs) {
    metrics.emplace_back(spec, longest);
    const LabelRange range = label_range(spec);
    accepted.least = std::max(accepted.least, range.least);
    accepted.greatest = std::min(accepted.greatest, range.greatest);
    accepted.whole |= range.whole;
  }
  const std::vector<Ordering> orderings = plan(metrics, longest);
  std::atomic<std::size_t> first_refused{queries};
  ScratchPool<Workspace> workspaces;
  const auto body = [&](std::size_t begin, std::size_t end) {
    const ScratchPool<Workspace>::Loan loan(workspaces);
    Workspace& workspace = *loan;
    for (std::size_t q = begin; q < end; ++q) {
      const QueryView query = table.query(q);
      summarize(query.labels, workspace.summary);
      const bool plain = !any_nan(query.scores) && acceptable(workspace.summary, accepted);
      if (!plain && check(specs, query, 0).kind != Refusal::Kind::none) {
        lower(first_refused, q);
        continue;
      }
      for (const Ordering& ordering : orderings) {
        workspace.ranked.rank(query, workspace.summary, ordering.ties, ordering.whole ? whole_list : ordering.depth);
        for (const std::size_t m : ordering.metrics) {
          const MetricValue value = metrics[m].value(workspace.ranked, workspace.scratch);
          values[m * queries + q] = value.value;
          empty[m * queries + q] = value.empty;
        }
      }
    }
  };
  const std::size_t threads = static_cast<std::size_t>(std::max(num_threads, 1));
  parallel_for(queries, num_threads, std::max<std::size_t>(1, queries / (threads * 16)), body);
  const std::size_t refused = first_refused.load();
  if (refused == queries) return {};
  return check(specs, table.query(refused), static_cast<std::size_t>(table.query_offsets[refused]));
}

}  // namespace podium
