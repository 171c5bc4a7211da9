#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "forces/cdn.hpp"
#include "forces/cdn_preferences.hpp"
#include "forces/normal.hpp"

namespace podium::bind {
namespace {

// Winner and loser of every preference, documents numbered inside their query, and where each query begins.
auto preferences(const ForceInputs& data) {
  const ForceTable table = data.table({}, {}, 0, 0);
  std::vector<std::int64_t> winner, loser, offsets{0};
  {
    const ReleasedGil released;
    std::vector<std::uint32_t> order;
    for (std::size_t q = 0; q < table.queries(); ++q) {
      for_each_edge(table.query(q, std::span<const double>()), order, [&](std::size_t i, std::size_t j, double) {
        winner.push_back(static_cast<std::int64_t>(i)), loser.push_back(static_cast<std::int64_t>(j));
      });
      offsets.push_back(static_cast<std::int64_t>(winner.size()));
    }
  }
  return std::make_tuple(to_numpy(std::move(winner)), to_numpy(std::move(loser)), to_numpy(std::move(offsets)));
}

void set_joins(ForceInputs& data, Vector<std::int64_t> first, Vector<std::int64_t> second,
               Vector<std::int64_t> join_offsets) {
  data.join_offsets.assign(join_offsets.data(), join_offsets.data() + join_offsets.size());
  data.joins.resize(first.size());
  for (std::size_t k = 0; k < first.size(); ++k) {
    data.joins[k] = {static_cast<std::uint32_t>(first.data()[k]), static_cast<std::uint32_t>(second.data()[k])};
  }
}

void set_noise(ForceInputs& data, Vector<double> scales, Matrix<double> inputs) {
  const std::size_t n = data.labels.size();
  if ((scales.size() != 0 && scales.size() != n) || inputs.shape(0) != n) {
    throw std::invalid_argument("the noise of " + std::to_string(n) + " documents is needed");
  }
  data.noise_scales.assign(scales.data(), scales.data() + scales.size());
  data.noise_inputs.assign(inputs.data(), inputs.data() + inputs.size());
}

}  // namespace

void bind_networks(nb::module_& m) {
  nb::enum_<CdnTopology>(m, "CdnTopology")
      .value("full", CdnTopology::full)
      .value("independent", CdnTopology::independent)
      .value("random", CdnTopology::random)
      .value("shared", CdnTopology::shared)
      .value("winner", CdnTopology::winner)
      .value("given", CdnTopology::given);
  nb::enum_<CdnFunction>(m, "CdnFunction")
      .value("sigmoid", CdnFunction::sigmoid)
      .value("gaussian", CdnFunction::gaussian);
  nb::enum_<CdnMethod>(m, "CdnMethod")
      .value("auto", CdnMethod::automatic)
      .value("exact", CdnMethod::exact)
      .value("chebyshev", CdnMethod::chebyshev);
  nb::class_<CdnSpec>(m, "CdnSpec", "What structrank is told: which preferences meet, and in which functions.")
      .def(
          "__init__",
          [](CdnSpec* spec, CdnTopology topology, CdnFunction function, std::size_t components, bool tied, bool learns,
             std::vector<double> values, std::size_t partners, bool mean, CdnMethod method, std::size_t noise_inputs) {
            new (spec) CdnSpec{topology,          function, components, tied,   learns,
                               std::move(values), partners, mean,       method, noise_inputs};
            if (spec->values.size() != spec->parameters().size()) {
              throw std::invalid_argument("a value is needed for each of the network's parameters");
            }
          },
          nb::kw_only(), nb::arg("topology"), nb::arg("function"), nb::arg("components"), nb::arg("tied"),
          nb::arg("learns"), nb::arg("values"), nb::arg("partners"), nb::arg("mean"), nb::arg("method"),
          nb::arg("noise_inputs"));
  m.def(
      "probit",
      [](Vector<double> x) {
        std::vector<double> out;
        for (std::size_t k = 0; k < x.size(); ++k) {
          const Probit found(x.data()[k]);
          out.insert(out.end(), {found.value, found.slope, found.bend});
        }
        return to_numpy(std::move(out));
      },
      nb::arg("x"), "−log Φ(x), minus its slope, and its second derivative, of one x after the other.");
  m.def(
      "bivariate_probit",
      [](Vector<double> x, Vector<double> y, double rho) {
        if (x.size() != y.size()) throw std::invalid_argument("x and y have different sizes");
        const BivariateNormal normal(rho);
        std::vector<double> out;
        for (std::size_t k = 0; k < x.size(); ++k) {
          const BivariateProbit found = normal(x.data()[k], y.data()[k]);
          out.insert(out.end(), {found.value, found.x, found.y, found.rho, found.xx, found.yy, found.xy});
        }
        return to_numpy(std::move(out));
      },
      nb::arg("x"), nb::arg("y"), nb::arg("rho"),
      "−log Φ₂(x, y; ρ), minus its slopes in x, y and ρ, and its second derivatives xx, yy and xy.");
}

void bind_network_inputs(nb::module_& m) {
  m.def("preferences", &preferences, nb::arg("data"),
        "Winner and loser of every preference, numbered inside their query, and where each query begins.");
  m.def("set_joins", &set_joins, nb::arg("data"), nb::arg("first"), nb::arg("second"), nb::arg("join_offsets"),
        "Pairs of preferences that meet, sorted by query, preferences numbered inside their query.");
  m.def("set_noise", &set_noise, nb::arg("data"), nb::arg("scales"), nb::arg("inputs"),
        "Scales of the documents' noise, or none; and the inputs that it is learned from [documents × inputs].");
}

}  // namespace podium::bind
