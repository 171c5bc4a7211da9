#include "forces/force_parameters.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>

#include "bind/bind.hpp"
#include "forces/force.hpp"

namespace podium::bind {
namespace {

void check_count(std::size_t found, std::size_t needed) {
  if (found == needed) return;
  throw std::invalid_argument(std::to_string(found) + " numbers were given, and " + std::to_string(needed) +
                              " are needed");
}

}  // namespace

void bind_force_parameters(nb::module_& m) {
  nb::enum_<ParameterKind>(m, "ParameterKind")
      .value("threshold", ParameterKind::threshold)
      .value("positive", ParameterKind::positive)
      .value("correlation", ParameterKind::correlation)
      .value("real", ParameterKind::real);
  nb::class_<ForceParameters>(
      m, "ForceParameters", "The numbers that a force learns itself, as free numbers and as the values they stand for.")
      .def(
          "__init__",
          [](ForceParameters* parameters, const ForceSpec& spec) {
            new (parameters) ForceParameters(Force(spec, 0).parameters());
          },
          nb::arg("spec"))
      .def("__len__", &ForceParameters::size)
      .def_prop_ro("names",
                   [](const ForceParameters& self) {
                     std::vector<std::string> out;
                     for (const ForceParameter& parameter : self.parameters()) out.push_back(parameter.name);
                     return out;
                   })
      .def_prop_ro("kinds",
                   [](const ForceParameters& self) {
                     std::vector<ParameterKind> out;
                     for (const ForceParameter& parameter : self.parameters()) out.push_back(parameter.kind);
                     return out;
                   })
      .def(
          "to_values",
          [](const ForceParameters& self, Vector<double> free) {
            std::vector<double> out(self.size());
            check_count(free.size(), self.size());
            self.to_values(free.data(), out.data());
            return to_numpy(std::move(out));
          },
          nb::arg("free"), "Values from free numbers.")
      .def(
          "to_free",
          [](const ForceParameters& self, Vector<double> values) {
            std::vector<double> out(self.size());
            check_count(values.size(), self.size());
            self.to_free(values.data(), out.data());
            return to_numpy(std::move(out));
          },
          nb::arg("values"), "Free numbers that stand for these values, or for the nearest that can be reached.")
      .def(
          "free_force",
          [](const ForceParameters& self, Vector<double> free, Vector<double> force) {
            std::vector<double> out(self.size(), 0.0);
            check_count(free.size(), self.size()), check_count(force.size(), self.size());
            self.add_free_force(free.data(), force.data(), out.data());
            return to_numpy(std::move(out));
          },
          nb::arg("free"), nb::arg("force"), "The force on the free numbers, given the force on the values.");
}

}  // namespace podium::bind
