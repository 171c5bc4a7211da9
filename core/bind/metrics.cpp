#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

#include "bind/bind.hpp"
#include "metrics/best_round.hpp"
#include "metrics/evaluate.hpp"
#include "metrics/kernels.hpp"
#include "metrics/metric.hpp"
#include "metrics/spec.hpp"
#include "metrics/swap.hpp"

namespace podium::bind {
namespace {

using Flags = std::optional<Vector<std::uint8_t>>;
using TieOrder = std::optional<Vector<std::int64_t>>;
// The kind of refusal (0: none), its row, and the metric that refused.
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
  check_size("scores", scores.size(), labels.size());
  const QueryTable table{
      {scores.data(), scores.size()}, {labels.data(), labels.size()}, {query_offsets.data(), query_offsets.size()},
      data_or_null(judged),           data_or_null(retrieved),        data_or_null(tie_order)};
  auto values = new_matrix<double>(specs.size(), table.queries());
  auto empty = new_matrix<bool>(specs.size(), table.queries());
  Refusal refusal;
  {
    const ReleasedGil released;
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
    const ReleasedGil released;
    const Metric metric(spec, n);
    LabelSummary summary;
    summarize(query.labels, summary);
    RankedQuery ranked;
    ranked.rank(query, summary, spec.ties, whole_list);
    SwapDeltas swaps;
    swaps.prepare(metric, ranked);
    std::vector<double> row(n);
    InterruptPace pace;
    for (std::size_t p = 0; p < n; ++p) {
      pace.step(n);
      swaps.row(p, row);
      double* const out = deltas.data() + ranked.order()[p] * n;
      for (std::size_t q = 0; q < n; ++q) out[ranked.order()[q]] = row[q];
    }
  }
  return std::make_tuple(deltas, to_problem(refusal));
}

// A user's metric: a Python function whose answer is checked there and, if Numba compiled it, its address. Compiled
// code returns 0, or anything else if it raised an exception: then the Python function is called for the query and
// raises the error that the user should see.
using CompiledMetric = std::int64_t (*)(std::int64_t, const double*, const double*, double*);

struct UserMetric {
  nb::object value, compiled;
  CompiledMetric compiled_value = nullptr;
};

double user_value(void* context, std::int64_t n, const double* scores, const double* labels) {
  const auto& user = *static_cast<const UserMetric*>(context);
  double value = 0;
  if (user.compiled_value && user.compiled_value(n, scores, labels, &value) == 0) return value;
  nb::gil_scoped_acquire gil;
  return nb::cast<double>(call_user(user.value, n, scores, labels));
}

void init_spec(MetricSpec* spec, std::string_view name, std::optional<std::size_t> cutoff, Gain gain,
               std::vector<double> gain_table, std::map<std::string, double, std::less<>> numbers, Empty empty,
               Ties ties, Convention convention, const CustomMetric* custom) {
  const MetricKernel* const kernel = find_kernel(name);
  if (kernel == nullptr) throw nb::key_error(std::string(name).c_str());
  new (spec) MetricSpec{
      kernel,     cutoff.value_or(whole_list),      gain, std::move(gain_table), std::move(numbers), empty, ties,
      convention, custom ? *custom : CustomMetric{}};
}

}  // namespace

void bind_metrics(nb::module_& m) {
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
  nb::class_<CustomMetric>(m, "CustomMetric",
                           "A user's metric in the form that the core takes: a function, and its compiled code.")
      .def(
          "__init__",
          [](CustomMetric* custom, nb::object value, std::uintptr_t compiled_value, nb::object compiled) {
            auto* const user =
                new UserMetric{std::move(value), std::move(compiled), reinterpret_cast<CompiledMetric>(compiled_value)};
            new (custom) CustomMetric{user_value, hold_with_gil(user)};
          },
          nb::arg("value"), nb::kw_only(), nb::arg("compiled_value"), nb::arg("compiled").none());
  nb::class_<MetricSpec>(m, "MetricSpec", "A metric in the form that the core takes; made from a metric's parameters.")
      .def("__init__", &init_spec, nb::arg("kernel"), nb::kw_only(), nb::arg("cutoff").none(), nb::arg("gain"),
           nb::arg("gain_table"), nb::arg("numbers"), nb::arg("empty"), nb::arg("ties"), nb::arg("convention"),
           nb::arg("custom").none() = nb::none());
  m.def("metric_names", &kernel_names, "The names of the metrics that the core computes.");
  m.def("metric_values", &metric_values, nb::arg("specs"), nb::arg("scores"), nb::arg("labels"),
        nb::arg("query_offsets"), nb::arg("judged").none(), nb::arg("retrieved").none(), nb::arg("tie_order").none(),
        nb::arg("num_threads"),
        "(values, empty, (problem, row, metric)), each [metrics × queries]; problem 0 means that all is well.");
  m.def(
      "best_round",
      [](Vector<double> values, std::size_t width, std::size_t first) {
        if (first < 1 || first > values.size()) throw std::invalid_argument("there is no such round");
        return best_round({values.data(), values.size()}, width, first);
      },
      nb::arg("values"), nb::arg("width"), nb::arg("first"),
      "The round, counted from 1, whose mean over neighbors is highest.");
  m.def("swap_deltas", &swap_deltas, nb::arg("spec"), nb::arg("scores"), nb::arg("labels"), nb::arg("judged").none(),
        nb::arg("tie_order").none(),
        "([documents × documents] of what the metric gains when two documents swap places, problem).");
}

}  // namespace podium::bind
