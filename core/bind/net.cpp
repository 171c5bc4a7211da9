#include "net/net.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "data/moments.hpp"
#include "exponentials.hpp"
#include "net/cholesky.hpp"
#include "net/descent.hpp"
#include "parallel.hpp"

namespace podium::bind {
namespace {

using Floats = Vector<double>;

InputMap as_map(const DenseNet& net, const Matrix<float>& features, const Floats& center, const Floats& scale,
                const Floats& filled) {
  const std::size_t width = net.shape().features();
  check_size("a row of features", features.shape(1), width);
  check_size("center", center.size(), width);
  check_size("scale", scale.size(), width);
  check_size("filled", filled.size(), width);
  return {as_span(center), as_span(scale), as_span(filled)};
}

std::vector<double> held(const DenseNet& net, const Floats& parameters) {
  check_size("parameters", parameters.size(), net.size());
  std::vector<double> out(net.held_size());
  net.hold(as_span(parameters).first(net.size()), out.data());
  return out;
}

auto scores(const DenseNet& net, Floats parameters, Matrix<float> features, Floats center, Floats scale, Floats filled,
            int num_threads) {
  std::vector<double> out(features.shape(0) * net.shape().outputs());
  const InputMap map = as_map(net, features, center, scale, filled);
  {
    const ReleasedGil released;
    net_scores(net, held(net, parameters).data(), {features.data(), features.size()}, features.shape(0), map,
               num_threads, out.data());
  }
  return to_numpy(std::move(out));
}

// Σ over documents of force · ∂s/∂parameter.
auto backward(const DenseNet& net, Floats parameters, Matrix<float> features, Floats center, Floats scale,
              Floats filled, Floats force, int num_threads) {
  std::vector<double> out(net.size());
  const InputMap map = as_map(net, features, center, scale, filled);
  check_size("force", force.size(), features.shape(0) * net.shape().outputs());
  {
    const ReleasedGil released;
    NetBatch batch(net, num_threads);
    const std::vector<double> weights = held(net, parameters);
    std::vector<double> gradient(net.held_size(), 0.0);
    constexpr std::size_t kRows = 4096;
    const std::size_t outputs = net.shape().outputs();
    for (std::size_t begin = 0; begin < features.shape(0); begin += kRows) {
      const std::size_t rows = std::min(kRows, features.shape(0) - begin);
      batch.reserve(rows);
      batch.set_inputs(0, rows, features.data() + begin * net.shape().features(), map);
      batch.forward(weights.data());
      std::copy_n(force.data() + begin * outputs, rows * outputs, batch.scores());
      batch.backward(weights.data(), gradient.data());
    }
    net.give(gradient, out.data());
  }
  return to_numpy(std::move(out));
}

auto matrix_product(Matrix<double> a, Matrix<double> b, int num_threads) {
  std::vector<double> out(a.shape(0) * b.shape(1));
  {
    const ReleasedGil released;
    product(a.shape(0), a.shape(1), b.shape(1), a.data(), b.data(), num_threads, out.data());
  }
  return to_numpy(std::move(out));
}

auto kernel_basis(Matrix<double> kernel, double least, int num_threads) {
  check_size("a row of the matrix", kernel.shape(1), kernel.shape(0));
  InverseRoot root;
  {
    const ReleasedGil released;
    root = inverse_root(kernel.shape(0), kernel.data(), least, num_threads);
  }
  return std::pair(to_numpy(std::move(root.pivots)), to_numpy(std::move(root.basis)));
}

void exponentiate(MutableVector<double> values, int num_threads) {
  const ReleasedGil released;
  parallel_for(values.size(), num_threads, 1 << 14,
               [&](std::size_t begin, std::size_t end) { exponentials({values.data() + begin, end - begin}); });
}

auto logarithms(Floats values) {
  std::vector<double> out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::log(values.data()[i]);
  return to_numpy(std::move(out));
}

// A Descent and the arrays it works on.
struct HeldDescent {
  HeldDescent(const DenseNet& net, const ForceSpec& spec, const ForceInputs& data, Matrix<float> features,
              Floats center, Floats scale, Floats filled, int num_threads)
      : data(data), features(features), center(center), scale(scale), filled(filled), outputs(net.shape().outputs()) {
    const ForceTable table = this->data.table({}, {}, 0, 0);
    check_size("features", features.shape(0), this->data.labels.size());
    const NetTask task{{this->features.data(), this->features.size()},
                       as_map(net, this->features, this->center, this->scale, this->filled),
                       table};
    descent = std::make_unique<Descent>(net, Force(spec, table.longest()), task, num_threads);
  }
  ForceInputs data;
  Matrix<float> features;
  Floats center, scale, filled;
  std::size_t outputs;
  std::unique_ptr<Descent> descent;
};

DescentOptions options(Optimizer optimizer, double rate, double l2, std::size_t batch, bool per_pair, bool cost,
                       std::uint64_t seed, std::uint64_t round) {
  return {optimizer, rate, l2, batch, per_pair, cost, seed, round};
}

// Where each document's scores go, or null.
double* seen_or_null(const HeldDescent& d, std::optional<MutableVector<double>>& seen) {
  if (!seen) return nullptr;
  check_size("seen", seen->size(), d.data.labels.size() * d.outputs);
  return seen->data();
}

}  // namespace

void bind_net(nb::module_& m) {
  nb::enum_<Activation>(m, "Activation")
      .value("identity", Activation::identity)
      .value("tanh", Activation::tanh)
      .value("sigmoid", Activation::sigmoid)
      .value("relu", Activation::relu);
  nb::enum_<Optimizer>(m, "Optimizer").value("sgd", Optimizer::sgd).value("adam", Optimizer::adam);
  nb::class_<DenseNet>(m, "DenseNet",
                       "A net of dense layers; parameters are W_1 [inputs × outputs], b_1, W_2, … in one vector.")
      .def(
          "__init__",
          [](DenseNet* net, std::vector<std::size_t> widths, Activation activation, Activation output) {
            new (net) DenseNet(NetShape{std::move(widths), activation, output});
          },
          nb::arg("widths"), nb::arg("activation"), nb::arg("output") = Activation::identity)
      .def_prop_ro("size", &DenseNet::size)
      .def(
          "weight_mask",
          [](const DenseNet& net) {
            std::vector<double> held(net.held_size(), 0.0), out(net.size());
            for (const Layer& layer : net.layers()) {
              std::fill(held.begin() + static_cast<std::ptrdiff_t>(layer.weights),
                        held.begin() + static_cast<std::ptrdiff_t>(layer.bias), 1.0);
            }
            net.give(held, out.data());
            return to_numpy(std::move(out));
          },
          "1 for weights, 0 for the bias of a layer.");
  m.def("net_scores", &scores, nb::arg("net"), nb::arg("parameters"), nb::arg("features"), nb::arg("center"),
        nb::arg("scale"), nb::arg("filled"), nb::arg("num_threads"),
        "Returns the scores of every row, outputs side by side.");
  m.def("net_backward", &backward, nb::arg("net"), nb::arg("parameters"), nb::arg("features"), nb::arg("center"),
        nb::arg("scale"), nb::arg("filled"), nb::arg("force"), nb::arg("num_threads"),
        "Returns Σ over documents of force · ∂s/∂parameter.");
  m.def("matrix_product", &matrix_product, nb::arg("a"), nb::arg("b"), nb::arg("num_threads"),
        "Returns a · b, row by row; a row does not depend on the other rows.");
  m.def("kernel_basis", &kernel_basis, nb::arg("kernel"), nb::arg("least"), nb::arg("num_threads"),
        "Returns (pivots, B) of a kernel matrix K: linearly independent rows, and B with Bᵀ K B = 1 for these.");
  m.def("exponentiate", &exponentiate, nb::arg("values"), nb::arg("num_threads"),
        "Replaces values by their exponentials, with the same bits on every machine. |values| is limited to 700.");
  m.def("logarithms", &logarithms, nb::arg("values"), "Returns natural logarithms, as the C library computes them.");
  m.def(
      "column_moments",
      [](Matrix<float> features, Vector<std::int64_t> query_offsets, Vector<std::int64_t> order, int num_threads) {
        std::vector<double> mean(features.shape(1)), deviation(features.shape(1));
        {
          const ReleasedGil released;
          column_moments({features.data(), features.size()}, features.shape(1), as_span(query_offsets), as_span(order),
                         num_threads, mean.data(), deviation.data());
        }
        return std::pair(to_numpy(std::move(mean)), to_numpy(std::move(deviation)));
      },
      nb::arg("features"), nb::arg("query_offsets"), nb::arg("order"), nb::arg("num_threads"),
      "Returns mean and standard deviation of every feature, without missing values.");
  nb::class_<HeldDescent>(m, "Descent", "Gradient descent of a net, with one update per batch of queries or per pair.")
      .def(
          nb::init<const DenseNet&, const ForceSpec&, const ForceInputs&, Matrix<float>, Floats, Floats, Floats, int>(),
          nb::arg("net"), nb::arg("force"), nb::arg("data"), nb::arg("features"), nb::arg("center"), nb::arg("scale"),
          nb::arg("filled"), nb::arg("num_threads"))
      .def_prop_ro("size", [](const HeldDescent& d) { return d.descent->size(); })
      .def_prop_ro("updates", [](const HeldDescent& d) { return d.descent->updates(); })
      .def(
          "set_parameters",
          [](HeldDescent& d, Floats given) {
            check_size("parameters", given.size(), d.descent->size());
            d.descent->set_parameters(as_span(given));
          },
          nb::arg("parameters"))
      .def("parameters",
           [](const HeldDescent& d) {
             std::vector<double> out(d.descent->size());
             d.descent->get_parameters(out.data());
             return to_numpy(std::move(out));
           })
      .def(
          "set_moments",
          [](HeldDescent& d, Floats first, Floats second, std::uint64_t updates) {
            check_size("first moments", first.size(), d.descent->size());
            check_size("second moments", second.size(), d.descent->size());
            d.descent->set_moments(as_span(first), as_span(second), updates);
          },
          nb::arg("first"), nb::arg("second"), nb::arg("updates"))
      .def("moments",
           [](const HeldDescent& d) {
             std::vector<double> first(d.descent->size()), second(d.descent->size());
             d.descent->get_moments(first.data(), second.data());
             return std::pair(to_numpy(std::move(first)), to_numpy(std::move(second)));
           })
      .def(
          "run",
          [](HeldDescent& d, Vector<std::int64_t> queries, Optimizer optimizer, double rate, double l2,
             std::size_t batch, bool per_pair, bool cost, std::uint64_t seed, std::uint64_t round,
             std::optional<MutableVector<double>> seen) {
            double* const out = seen_or_null(d, seen);
            const ReleasedGil released;
            return d.descent->pass(as_span(queries), options(optimizer, rate, l2, batch, per_pair, cost, seed, round),
                                   out);
          },
          nb::arg("queries"), nb::kw_only(), nb::arg("optimizer"), nb::arg("rate"), nb::arg("l2"), nb::arg("batch"),
          nb::arg("per_pair"), nb::arg("cost"), nb::arg("seed"), nb::arg("round"), nb::arg("seen").none(),
          "Makes one pass over the queries in this order; returns the sum of their costs if it is asked for.")
      .def(
          "gradient",
          [](HeldDescent& d, Vector<std::int64_t> queries, bool per_pair, std::uint64_t seed, std::uint64_t round,
             std::optional<MutableVector<double>> seen, bool cost, std::optional<Floats> start) {
            std::vector<double> out(d.descent->size(), 0.0);
            if (start) {
              check_size("start", start->size(), out.size());
              std::copy_n(start->data(), out.size(), out.data());
            }
            double total = 0;
            double* const scores = seen_or_null(d, seen);
            {
              const ReleasedGil released;
              total = d.descent->gradient(
                  as_span(queries), options(Optimizer::sgd, 0, 0, 1, per_pair, cost, seed, round), scores, out.data());
            }
            return std::pair(total, to_numpy(std::move(out)));
          },
          nb::arg("queries"), nb::kw_only(), nb::arg("per_pair"), nb::arg("seed"), nb::arg("round"),
          nb::arg("seen").none(), nb::arg("cost"), nb::arg("start") = nb::none(),
          "Returns the sum over queries of the cost, and `start` or 0 plus that of force · ∂s/∂parameter.")
      .def_prop_ro("adds_queries", [](const HeldDescent& d) { return d.descent->adds_queries(); })
      .def(
          "chunk_ends",
          [](const HeldDescent& d, Vector<std::int64_t> documents) {
            const std::vector<std::size_t> sizes(documents.data(), documents.data() + documents.size());
            return d.descent->chunk_ends(sizes);
          },
          nb::arg("documents"), "Returns the ends of the chunks that queries with so many documents make up.")
      .def(
          "query_gradients",
          [](HeldDescent& d, Vector<std::int64_t> queries, std::uint64_t seed, std::uint64_t round,
             std::optional<MutableVector<double>> seen, bool cost) {
            std::vector<double> costs(queries.size()), out(queries.size() * d.descent->size());
            double* const scores = seen_or_null(d, seen);
            {
              const ReleasedGil released;
              d.descent->query_gradients(as_span(queries), options(Optimizer::sgd, 0, 0, 1, false, cost, seed, round),
                                         scores, costs.data(), out.data());
            }
            return std::pair(to_numpy(std::move(costs)), to_numpy(std::move(out)));
          },
          nb::arg("queries"), nb::kw_only(), nb::arg("seed"), nb::arg("round"), nb::arg("seen").none(), nb::arg("cost"),
          "Returns the cost of each query, and force · ∂s/∂parameter of each, one after the other.")
      .def(
          "apply",
          [](HeldDescent& d, Floats sum, std::size_t queries, Optimizer optimizer, double rate, double l2) {
            check_size("sum", sum.size(), d.descent->size());
            const ReleasedGil released;
            d.descent->apply(as_span(sum), queries, options(optimizer, rate, l2, 1, false, false, 0, 0));
          },
          nb::arg("sum"), nb::kw_only(), nb::arg("queries"), nb::arg("optimizer"), nb::arg("rate"), nb::arg("l2"),
          "Makes one update, given the sum over so many queries of force · ∂s/∂parameter.");
}

}  // namespace podium::bind
