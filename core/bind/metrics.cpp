#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "bind/bind.hpp"
#include "metrics/evaluate.hpp"
#include "metrics/metric.hpp"
#include "metrics/spec.hpp"
#include "metrics/swap.hpp"

namespace podium::bind {
namespace {

using Flags = std::optional<Vector<std::uint8_t>>;
using TieOrder = std::optional<Vector<std::int64_t>>;
// What was refused (0: nothing), at which row, by which metric.
using Problem = std::tuple<int, std::size_t, std::size_t>;

template <class T>
const T* data_or_null(const std::optional<Vector<T>>& values) {
  return values ? values->data() : nullptr;
}

template <class T>
nb::ndarray<T, nb::numpy, nb::ndim<2>> new_matrix(std::size_t rows, std::size_t columns) {
  auto* values = new T[std::max<std::size_t>(rows * columns, 1)];
  nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<T, nb::numpy, nb::ndim<2>>(values, {rows, columns}, owner);
}

Problem to_problem(const Refusal& refusal) {
  return {static_cast<int>(refusal.kind), refusal.row, refusal.metric};
}

auto metric_values(const std::vector<MetricSpec>& specs, Vector<double> scores, Vector<double> labels,
                   Vector<std::int64_t> query_offsets, const Flags& judged, const Flags& retrieved,
                   const TieOrder& tie_order, int num_threads) {
  const QueryTable table{
      {scores.data(), scores.size()}, {labels.data(), labels.size()}, {query_offsets.data(), query_offsets.size()},
      data_or_null(judged),           data_or_null(retrieved),        data_or_null(tie_order)};
  auto values = new_matrix<double>(specs.size(), table.queries());
  auto empty = new_matrix<bool>(specs.size(), table.queries());
  Refusal refusal;
  {
    nb::gil_scoped_release release;
    refusal = evaluate(specs, table, num_threads, values.data(), empty.data());
  }
  return std::make_tuple(values, empty, to_problem(refusal));
}

auto swap_deltas(const MetricSpec& spec, Vector<double> scores, Vector<double> labels, const Flags& judged,
                 const TieOrder& tie_order) {
  const std::size_t n = scores.size();
  const QueryView query{{scores.data(), n}, {labels.data(), n}, data_or_null(judged), nullptr, data_or_null(tie_order)};
  auto deltas = new_matrix<double>(n, n);
  const Refusal refusal = check({&spec, 1}, query, 0);
  if (refusal.kind == Refusal::Kind::none) {
    nb::gil_scoped_release release;
    const Metric metric(spec, n);
    LabelSummary summary;
    summarize(query.labels, summary);
    RankedQuery ranked;
    ranked.rank(query, summary, spec.ties, whole_list);
    SwapDeltas swaps;
    swaps.prepare(metric, ranked);
    std::vector<double> row(n);
    for (std::size_t p = 0; p < n; ++p) {
      swaps.row(p, row);
      double* const out = deltas.data() + ranked.order()[p] * n;
      for (std::size_t q = 0; q < n; ++q) out[ranked.order()[q]] = row[q];
    }
  }
  return std::make_tuple(deltas, to_problem(refusal));
}

}  // namespace

void bind_metrics(nb::module_& m) {
  nb::enum_<Measure>(m, "Measure")
      .value("ndcg", Measure::ndcg)
      .value("mean_ndcg", Measure::mean_ndcg)
      .value("dcg", Measure::dcg)
      .value("map", Measure::map)
      .value("mrr", Measure::mrr)
      .value("wta", Measure::wta)
      .value("p", Measure::precision)
      .value("recall", Measure::recall)
      .value("err", Measure::err)
      .value("bpref", Measure::bpref)
      .value("auc", Measure::auc)
      .value("pairwise_error", Measure::pairwise_error)
      .value("pairwise_correct", Measure::pairwise_correct)
      .value("kendall_tau", Measure::kendall_tau)
      .value("rbp", Measure::rbp);
  nb::enum_<Gain>(m, "Gain")
      .value("exponential", Gain::exponential)
      .value("linear", Gain::linear)
      .value("table", Gain::table);
  nb::enum_<Empty>(m, "Empty").value("zero", Empty::zero).value("one", Empty::one).value("skip", Empty::skip);
  nb::enum_<Ties>(m, "Ties")
      .value("input", Ties::input)
      .value("trec_eval", Ties::trec_eval)
      .value("average", Ties::average);
  nb::enum_<Convention>(m, "Convention")
      .value("textbook", Convention::textbook)
      .value("letor", Convention::letor)
      .value("trec_eval", Convention::trec_eval);
  nb::class_<MetricSpec>(m, "MetricSpec", "A metric as the core sees it; metrics make it from their parameters.")
      .def(
          "__init__",
          [](MetricSpec* spec, Measure measure, std::optional<std::size_t> cutoff, Gain gain,
             std::vector<double> gain_table, double relevant_from, double largest_label, double persistence,
             Empty empty, Ties ties, Convention convention) {
            new (spec) MetricSpec{measure,       cutoff.value_or(whole_list),
                                  gain,          std::move(gain_table),
                                  relevant_from, largest_label,
                                  persistence,   empty,
                                  ties,          convention};
          },
          nb::arg("measure"), nb::kw_only(), nb::arg("cutoff").none(), nb::arg("gain"), nb::arg("gain_table"),
          nb::arg("relevant_from"), nb::arg("largest_label"), nb::arg("persistence"), nb::arg("empty"), nb::arg("ties"),
          nb::arg("convention"));
  m.def("metric_values", &metric_values, nb::arg("specs"), nb::arg("scores"), nb::arg("labels"),
        nb::arg("query_offsets"), nb::arg("judged").none(), nb::arg("retrieved").none(), nb::arg("tie_order").none(),
        nb::arg("num_threads"),
        "(values, empty, (problem, row, metric)), each [metrics × queries]; problem 0 means that all is well.");
  m.def("swap_deltas", &swap_deltas, nb::arg("spec"), nb::arg("scores"), nb::arg("labels"), nb::arg("judged").none(),
        nb::arg("tie_order").none(),
        "([documents × documents] of what the metric gains when two documents swap places, problem).");
}

}  // namespace podium::bind
