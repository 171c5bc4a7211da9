#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "bind/bind.hpp"
#include "bind/force_data.hpp"
#include "forces/force.hpp"
#include "forces/loop.hpp"

namespace podium::bind {
namespace {

void set_pairs(ForceData& data, Vector<std::int64_t> winner, Vector<std::int64_t> loser, Vector<double> probability,
               Vector<double> weight, Vector<std::int64_t> pair_offsets) {
  data.pair_offsets.assign(pair_offsets.data(), pair_offsets.data() + pair_offsets.size());
  data.pairs.resize(winner.size());
  for (std::size_t k = 0; k < winner.size(); ++k) {
    data.pairs[k] = {static_cast<std::uint32_t>(winner.data()[k]), static_cast<std::uint32_t>(loser.data()[k]),
                     probability.data()[k], weight.data()[k]};
  }
}

void apply(const ForceSpec& spec, const ForceData& data, Vector<double> scores, Vector<double> parameters,
           std::uint64_t seed, std::uint64_t round, int num_threads, MutableVector<double> force,
           std::optional<MutableVector<double>> curvature, std::optional<MutableVector<double>> cost,
           std::optional<MutableVector<double>> parameter_force) {
  nb::gil_scoped_release release;
  const ForceTable table = data.table(as_span(scores), as_span(parameters), seed, round);
  const Force kernel(spec, table.longest());
  const ForceSums out{force.data(), curvature ? curvature->data() : nullptr, cost ? cost->data() : nullptr,
                      parameter_force ? parameter_force->data() : nullptr};
  apply_force(kernel, table, num_threads, out);
}

}  // namespace

void bind_forces(nb::module_& m) {
  nb::enum_<ForceKind>(m, "ForceKind")
      .value("ranknet", ForceKind::ranknet)
      .value("lambdarank", ForceKind::lambdarank)
      .value("spring", ForceKind::spring)
      .value("step", ForceKind::step)
      .value("hinge", ForceKind::hinge)
      .value("squared_hinge", ForceKind::squared_hinge)
      .value("exponential", ForceKind::exponential)
      .value("listnet", ForceKind::listnet)
      .value("listmle", ForceKind::listmle)
      .value("xendcg", ForceKind::xendcg)
      .value("squared", ForceKind::squared)
      .value("ordinal", ForceKind::ordinal)
      .value("multiclass", ForceKind::multiclass);
  nb::class_<ForceSpec>(m, "ForceSpec", "A force as the core sees it; forces make it from their parameters.")
      .def(
          "__init__",
          [](ForceSpec* spec, ForceKind kind, double sigma, double margin, bool ties, bool neighbours,
             const MetricSpec& metric,
             std::size_t classes) { new (spec) ForceSpec{kind, sigma, margin, ties, neighbours, metric, classes}; },
          nb::arg("kind"), nb::kw_only(), nb::arg("sigma"), nb::arg("margin"), nb::arg("ties"), nb::arg("neighbours"),
          nb::arg("metric"), nb::arg("classes"));
  nb::class_<ForceData>(m, "ForceData", "Labels, weights and pairs of queries, ready for forces.")
      .def(
          "__init__",
          [](ForceData* data, Vector<double> labels, Vector<std::int64_t> query_offsets,
             std::optional<Vector<double>> document_weights, std::optional<Vector<double>> query_weights,
             std::optional<Vector<std::uint64_t>> query_keys) {
            new (data) ForceData{std::move(labels),
                                 std::move(query_offsets),
                                 std::move(document_weights),
                                 std::move(query_weights),
                                 std::move(query_keys),
                                 {},
                                 {}};
          },
          nb::arg("labels"), nb::arg("query_offsets"), nb::kw_only(), nb::arg("document_weights").none(),
          nb::arg("query_weights").none(), nb::arg("query_keys").none())
      .def("set_pairs", &set_pairs, nb::arg("winner"), nb::arg("loser"), nb::arg("probability"), nb::arg("weight"),
           nb::arg("pair_offsets"), "Pairs sorted by query, documents numbered inside their query.");
  m.def("apply_force", &apply, nb::arg("spec"), nb::arg("data"), nb::arg("scores"), nb::arg("parameters"),
        nb::arg("seed"), nb::arg("round"), nb::arg("num_threads"), nb::arg("force"), nb::arg("curvature").none(),
        nb::arg("cost").none(), nb::arg("parameter_force").none(),
        "Writes force, curvature, cost of each query and the force on parameters into the arrays given.");
}

}  // namespace podium::bind
