// Many metrics over many queries: a parallel loop around the kernels of one query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "metrics/metric.hpp"

namespace podium {

struct QueryTable {
  std::span<const double> scores, labels;
  std::span<const std::int64_t> query_offsets;
  const std::uint8_t* judged = nullptr;
  const std::uint8_t* retrieved = nullptr;
  const std::int64_t* tie_order = nullptr;

  std::size_t queries() const { return query_offsets.size() - 1; }
  QueryView query(std::size_t q) const;
  std::size_t longest() const;
};

// Input that a metric cannot take: the first row of the first such query.
struct Refusal {
  enum class Kind { none, score_is_nan, label_not_finite, label_too_small, label_too_large, label_not_whole };
  Kind kind = Kind::none;
  std::size_t row = 0, metric = 0;
};

// The labels that a metric takes under its convention.
LabelRange label_range(const MetricSpec& spec);

// values[m · queries + q] and empty[m · queries + q] for each metric m and query q. After a refusal they are undefined.
Refusal evaluate(std::span<const MetricSpec> specs, const QueryTable& table, int num_threads, double* values,
                 bool* empty);

// The first value of one query that the metric refuses, rows counted from `first_row`.
Refusal check(std::span<const MetricSpec> specs, const QueryView& query, std::size_t first_row);

}  // namespace podium
