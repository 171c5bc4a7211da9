#include "forces/lambda_labels.hpp"

#include <algorithm>
#include <limits>

#include "forces/loop.hpp"

namespace podium {
namespace {

constexpr std::size_t kLargestTable = 32u << 20;  // bytes of the facts about all queries

bool has_falling_gains(const Metric& metric, const LabelSummary& summary) {
  double highest = -std::numeric_limits<double>::infinity();
  for (auto level = static_cast<std::size_t>(summary.least); level <= static_cast<std::size_t>(summary.greatest);
       ++level) {
    if (summary.counts[level] == 0) continue;
    const double gain = metric.level_gain(level, summary.greatest);
    if (gain < highest) return true;
    highest = gain;
  }
  return false;
}

}  // namespace

std::span<const double> describe_labels(const Metric& metric, std::span<const double> labels, LabelScratch& scratch,
                                        LabelFacts& facts, std::uint32_t* by_level) {
  const LabelSummary& summary = scratch.summary;
  summarize(labels, scratch.summary);
  facts.plain = summary.integral;
  if (!facts.plain || labels.empty()) return {};
  scratch.ranked.describe({labels, labels}, summary);
  const AdditiveForm form = metric.additive(scratch.ranked, scratch.metric);
  facts.norm = form.norm, facts.counted = static_cast<std::uint32_t>(form.weights.size());
  facts.levels = static_cast<std::uint8_t>(summary.greatest + 1), facts.counts = summary.counts;
  const bool alike = form.empty || summary.least == summary.greatest;
  facts.zero = alike || std::ranges::all_of(form.weights, [](double weight) { return weight == 0; });
  if (!alike && has_falling_gains(metric, summary)) facts.plain = false;
  std::uint32_t next[LabelSummary::small] = {};
  for (std::size_t level = 1; level < facts.levels; ++level) next[level] = next[level - 1] + facts.counts[level - 1];
  for (std::size_t i = 0; i < labels.size(); ++i) {
    by_level[next[static_cast<std::size_t>(labels[i])]++] = static_cast<std::uint32_t>(i);
  }
  return form.weights;
}

LabelTable describe_labels(const ForceSpec& spec, const Metric& metric, const ForceTable& table) {
  LabelTable out;
  const std::size_t size = table.queries() * sizeof(LabelFacts) + table.labels.size() * sizeof(std::uint32_t);
  if (!is_additive(spec.metric) || !table.pair_offsets.empty() || size > kLargestTable) return out;
  out.facts.resize(table.queries()), out.by_level.resize(table.labels.size());
  LabelScratch scratch;
  for (std::size_t q = 0; q < table.queries(); ++q) {
    const auto begin = static_cast<std::size_t>(table.query_offsets[q]);
    const std::span<const double> weights = describe_labels(metric, table.labels.subspan(begin, table.documents(q)),
                                                            scratch, out.facts[q], out.by_level.data() + begin);
    if (!weights.empty() && weights.data() != metric.weights().data()) return {};  // each query has its own
  }
  return out;
}

}  // namespace podium
