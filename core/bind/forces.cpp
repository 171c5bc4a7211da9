#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "forces/kernels.hpp"
#include "forces/loop.hpp"

namespace podium::bind {
namespace {

void set_pairs(ForceInputs& data, Vector<std::int64_t> winner, Vector<std::int64_t> loser, Vector<double> probability,
               Vector<double> weight, Vector<std::int64_t> pair_offsets) {
  data.pair_offsets.assign(pair_offsets.data(), pair_offsets.data() + pair_offsets.size());
  data.pairs.resize(winner.size());
  for (std::size_t k = 0; k < winner.size(); ++k) {
    data.pairs[k] = {static_cast<std::uint32_t>(winner.data()[k]), static_cast<std::uint32_t>(loser.data()[k]),
                     probability.data()[k], weight.data()[k]};
  }
}

// A user's force: Python functions whose answers are checked there and, if Numba compiled them, their addresses.
// Compiled code returns 0, or anything else if it raised an exception: then the Python function is called for the query
// and raises the error that the user should see.
using CompiledForce = std::int64_t (*)(std::int64_t, const double*, const double*, double*, double*);
using CompiledCost = std::int64_t (*)(std::int64_t, const double*, const double*, double*);

struct UserForce {
  nb::object force, cost, compiled;
  CompiledForce compiled_force = nullptr;
  CompiledCost compiled_cost = nullptr;
};

void user_compute(void* context, std::int64_t n, const double* scores, const double* labels, double* force,
                  double* curvature) {
  const auto& user = *static_cast<const UserForce*>(context);
  if (user.compiled_force && user.compiled_force(n, scores, labels, force, curvature) == 0) return;
  nb::gil_scoped_acquire gil;
  const auto [pushed, bent] =
      nb::cast<std::pair<Vector<double>, Vector<double>>>(call_user(user.force, n, scores, labels));
  std::copy_n(pushed.data(), n, force);
  std::copy_n(bent.data(), n, curvature);
}

double user_cost(void* context, std::int64_t n, const double* scores, const double* labels) {
  const auto& user = *static_cast<const UserForce*>(context);
  double cost = 0;
  if (user.compiled_cost && user.compiled_cost(n, scores, labels, &cost) == 0) return cost;
  nb::gil_scoped_acquire gil;
  return nb::cast<double>(call_user(user.cost, n, scores, labels));
}

CustomForce make_custom(nb::object force, nb::object cost, std::uintptr_t compiled_force, std::uintptr_t compiled_cost,
                        nb::object compiled) {
  CustomForce custom{user_compute, cost.is_none() ? nullptr : user_cost, nullptr};
  auto* const user =
      new UserForce{std::move(force), std::move(cost), std::move(compiled),
                    reinterpret_cast<CompiledForce>(compiled_force), reinterpret_cast<CompiledCost>(compiled_cost)};
  custom.context = hold_with_gil(user);
  return custom;
}

void apply(const PreparedForce& prepared, Vector<double> scores, Vector<double> parameters, std::uint64_t seed,
           std::uint64_t round, int num_threads, MutableVector<double> force,
           std::optional<MutableVector<double>> curvature, std::optional<MutableVector<double>> cost,
           std::optional<MutableVector<double>> parameter_force) {
  const std::size_t documents = prepared.data().labels.size(), size = documents * prepared.force().outputs();
  check_size("scores", scores.size(), size);
  check_size("force", force.size(), size);
  if (curvature) check_size("curvature", curvature->size(), size);
  const ReleasedGil released;
  const ForceTable table = prepared.table(as_span(scores), as_span(parameters), seed, round);
  const ForceSums out{force.data(), curvature ? curvature->data() : nullptr, cost ? cost->data() : nullptr,
                      parameter_force ? parameter_force->data() : nullptr};
  apply_force(prepared.force(), table, num_threads, out);
}

}  // namespace

void bind_forces(nb::module_& m) {
  m.def("force_names", &force_names, "The names of the forces that the core computes.");
  nb::class_<CustomForce>(m, "CustomForce",
                          "A user's force in the form that the core takes: functions, and addresses of compiled ones.")
      .def(
          "__init__",
          [](CustomForce* custom, nb::object force, nb::object cost, std::uintptr_t compiled_force,
             std::uintptr_t compiled_cost, nb::object compiled) {
            new (custom)
                CustomForce(make_custom(std::move(force), std::move(cost), compiled_force, compiled_cost, compiled));
          },
          nb::arg("force"), nb::arg("cost").none(), nb::kw_only(), nb::arg("compiled_force"), nb::arg("compiled_cost"),
          nb::arg("compiled").none());
  nb::class_<ForceSpec>(m, "ForceSpec", "A force in the form that the core takes; made from a force's parameters.")
      .def(
          "__init__",
          [](ForceSpec* spec, const std::string& name, double sigma, double margin, bool ties, bool neighbors,
             std::size_t truncation, bool normalize, bool damping, double noise, std::size_t draws, double step,
             bool lower_is_better, double alpha, const MetricSpec& metric, std::size_t classes, const CdnSpec* cdn,
             const CustomForce* custom) {
            const ForceKernel* const kernel = find_force(name);
            if (kernel == nullptr) throw nb::value_error(("no force is called " + name).c_str());
            new (spec) ForceSpec{kernel,
                                 sigma,
                                 margin,
                                 ties,
                                 neighbors,
                                 truncation,
                                 normalize,
                                 damping,
                                 noise,
                                 draws,
                                 step,
                                 lower_is_better,
                                 alpha,
                                 metric,
                                 classes,
                                 cdn == nullptr ? CdnSpec{} : *cdn,
                                 custom == nullptr ? CustomForce{} : *custom};
          },
          nb::arg("name"), nb::kw_only(), nb::arg("sigma"), nb::arg("margin"), nb::arg("ties"), nb::arg("neighbors"),
          nb::arg("truncation"), nb::arg("normalize"), nb::arg("damping"), nb::arg("noise"), nb::arg("draws"),
          nb::arg("step"), nb::arg("lower_is_better"), nb::arg("alpha"), nb::arg("metric"), nb::arg("classes"),
          nb::arg("cdn").none() = nb::none(), nb::arg("custom").none() = nb::none());
  nb::class_<ForceInputs>(m, "ForceInputs", "Labels, weights and pairs of queries, ready for forces.")
      .def(
          "__init__",
          [](ForceInputs* data, Vector<double> labels, Vector<std::int64_t> query_offsets,
             std::optional<Vector<double>> document_weights, std::optional<Vector<double>> query_weights,
             std::optional<Vector<std::uint64_t>> query_keys) {
            new (data) ForceInputs{std::move(labels),
                                   std::move(query_offsets),
                                   std::move(document_weights),
                                   std::move(query_weights),
                                   std::move(query_keys),
                                   {},
                                   {},
                                   {},
                                   {},
                                   {},
                                   {}};
          },
          nb::arg("labels"), nb::arg("query_offsets"), nb::kw_only(), nb::arg("document_weights").none(),
          nb::arg("query_weights").none(), nb::arg("query_keys").none())
      .def("set_pairs", &set_pairs, nb::arg("winner"), nb::arg("loser"), nb::arg("probability"), nb::arg("weight"),
           nb::arg("pair_offsets"), "Pairs sorted by query, documents numbered inside their query.");
  m.def(
      "all_finite", [](Vector<double> scores) { return all_finite(as_span(scores)); }, nb::arg("scores"),
      "Whether no score is infinite or NaN.");
  nb::class_<PreparedForce>(m, "PreparedForce", "A force on the queries of one data set, whose labels it has seen.")
      .def(nb::init<const ForceSpec&, const ForceInputs&>(), nb::arg("spec"), nb::arg("data"), nb::keep_alive<1, 3>());
  m.def("apply_force", &apply, nb::arg("force_on_data"), nb::arg("scores"), nb::arg("parameters"), nb::arg("seed"),
        nb::arg("round"), nb::arg("num_threads"), nb::arg("force"), nb::arg("curvature").none(), nb::arg("cost").none(),
        nb::arg("parameter_force").none(),
        "Writes force, curvature, cost of each query and the force on parameters into the arrays given.");
}

}  // namespace podium::bind
