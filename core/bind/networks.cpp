#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <utility>

#include "bind/bind.hpp"
#include "forces/cdn.hpp"

namespace podium::bind {

void bind_networks(nb::module_& m) {
  nb::enum_<CdnTopology>(m, "CdnTopology")
      .value("full", CdnTopology::full)
      .value("independent", CdnTopology::independent)
      .value("random", CdnTopology::random);
  nb::enum_<CdnMethod>(m, "CdnMethod")
      .value("auto", CdnMethod::automatic)
      .value("exact", CdnMethod::exact)
      .value("chebyshev", CdnMethod::chebyshev);
  nb::class_<CdnSpec>(m, "CdnSpec", "What structrank is told: which pairs of preferences, and how they are summed.")
      .def(
          "__init__",
          [](CdnSpec* spec, CdnTopology topology, bool tied, bool learns, std::vector<double> values,
             std::size_t partners, bool mean, CdnMethod method) {
            new (spec) CdnSpec{topology, tied, learns, std::move(values), partners, mean, method};
            if (spec->values.size() != spec->parameters().size()) {
              throw std::invalid_argument("a value is needed for each of the network's parameters");
            }
          },
          nb::kw_only(), nb::arg("topology"), nb::arg("tied"), nb::arg("learns"), nb::arg("values"),
          nb::arg("partners"), nb::arg("mean"), nb::arg("method"));
}

}  // namespace podium::bind
