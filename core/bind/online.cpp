#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bind/bind.hpp"
#include "online/perceptrons.hpp"
#include "online/quadratic.hpp"

namespace podium::bind {
namespace {

using Floats = Vector<double>;

template <class T>
std::span<const T> span_of(const Vector<T>& values) {
  return {values.data(), values.size()};
}

InputMap checked_map(std::size_t width, const Matrix<float>& features, const Floats& center, const Floats& scale,
                     const Floats& filled) {
  check_size("a row of features", features.shape(1), width);
  check_size("center", center.size(), width);
  check_size("scale", scale.size(), width);
  check_size("filled", filled.size(), width);
  return {span_of(center), span_of(scale), span_of(filled)};
}

// Documents as Python holds them.
struct OnlineDocuments {
  OnlineDocuments(Matrix<float> features, Floats center, Floats scale, Floats filled, Vector<std::int32_t> levels,
                  Vector<std::uint64_t> keys)
      : features(features), center(center), scale(scale), filled(filled), levels(levels), keys(keys) {
    checked_map(features.shape(1), features, center, scale, filled);
    check_size("levels", levels.size(), features.shape(0));
    check_size("keys", keys.size(), features.shape(0));
    for (std::size_t i = 0; i < levels.size(); ++i) {
      if (levels.data()[i] < 0) throw std::invalid_argument("a level is below 0");
      highest = std::max(highest, static_cast<std::size_t>(levels.data()[i]));
    }
  }

  OnlineData in_order(const Vector<std::int64_t>& rows, std::size_t width, std::size_t thresholds) const {
    check_size("a row of features", features.shape(1), width);
    if (highest > thresholds) throw std::invalid_argument("a level is above the thresholds");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows.data()[i];
      if (row < 0 || static_cast<std::size_t>(row) >= features.shape(0)) throw std::invalid_argument("no such row");
    }
    return {{features.data(), features.size()},
            {span_of(center), span_of(scale), span_of(filled)},
            span_of(levels),
            span_of(keys),
            span_of(rows)};
  }

  Matrix<float> features;
  Floats center, scale, filled;
  Vector<std::int32_t> levels;
  Vector<std::uint64_t> keys;
  std::size_t highest = 0;
};

using Counts = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;

Counts counts(const Tally& tally) {
  return {tally.taken, tally.mistakes, tally.levels_off};
}

// A function and its thresholds.
struct QuadraticLearner {
  QuadraticLearner(std::size_t width, std::size_t thresholds) : function(width), thresholds(thresholds, 0.0) {}
  Quadratic function;
  std::vector<double> thresholds;
};

struct SupportLearner {
  SupportLearner(std::size_t width, std::size_t budget, std::size_t thresholds)
      : function(width, budget), width(width), thresholds(thresholds, 0.0) {}
  Supports function;
  std::size_t width;
  std::vector<double> thresholds;
};

template <class Learner>
Counts run_quadratic(Learner& learner, const OnlineDocuments& documents, std::size_t width,
                     const Vector<std::int64_t>& rows, int num_threads) {
  const OnlineData data = documents.in_order(rows, width, learner.thresholds.size());
  const ReleasedGil released;
  return counts(prank_pass(learner.function, learner.thresholds, data, num_threads));
}

auto copied(const std::vector<double>& values) {
  return to_numpy(std::vector<double>(values));
}

void bind_perceptrons(nb::module_& m) {
  nb::class_<Perceptrons>(m, "Perceptrons", "Linear PRanks that learn together, one per share.")
      .def(nb::init<std::size_t, std::size_t, std::vector<double>>(), nb::arg("width"), nb::arg("thresholds"),
           nb::arg("shares"))
      .def("weights", [](Perceptrons& p) { return copied(p.weights()); })
      .def("thresholds", [](Perceptrons& p) { return copied(p.thresholds()); })
      .def(
          "set",
          [](Perceptrons& p, Floats weights, Floats thresholds) {
            check_size("weights", weights.size(), p.weights().size());
            check_size("thresholds", thresholds.size(), p.thresholds().size());
            std::copy_n(weights.data(), weights.size(), p.weights().begin());
            std::copy_n(thresholds.data(), thresholds.size(), p.thresholds().begin());
          },
          nb::arg("weights"), nb::arg("thresholds"))
      .def(
          "run",
          [](Perceptrons& p, const OnlineDocuments& documents, Vector<std::int64_t> rows, std::uint64_t seed,
             std::uint64_t round, int num_threads) {
            const std::size_t n = p.count();
            const OnlineData data = documents.in_order(rows, p.weights().size() / n, p.thresholds().size() / n);
            const ReleasedGil released;
            return counts(p.pass(data, seed, round, num_threads));
          },
          nb::arg("documents"), nb::arg("rows"), nb::kw_only(), nb::arg("seed"), nb::arg("round"),
          nb::arg("num_threads"),
          "Makes one pass in this order; returns the numbers of documents used, mistakes, and levels off.");
}

void bind_quadratic(nb::module_& m) {
  nb::class_<QuadraticLearner>(m, "QuadraticLearner", "PRank with xᵀ A x + w·x + c stored whole.")
      .def(nb::init<std::size_t, std::size_t>(), nb::arg("width"), nb::arg("thresholds"))
      .def("thresholds", [](const QuadraticLearner& q) { return copied(q.thresholds); })
      .def("function",
           [](const QuadraticLearner& q) {
             std::vector<double> out(q.function.size());
             q.function.get(out.data());
             return to_numpy(std::move(out));
           })
      .def(
          "set",
          [](QuadraticLearner& q, Floats function, Floats thresholds) {
            check_size("function", function.size(), q.function.size());
            check_size("thresholds", thresholds.size(), q.thresholds.size());
            q.function.set(span_of(function));
            std::copy_n(thresholds.data(), thresholds.size(), q.thresholds.begin());
          },
          nb::arg("function"), nb::arg("thresholds"))
      .def(
          "run",
          [](QuadraticLearner& q, const OnlineDocuments& documents, Vector<std::int64_t> rows, int num_threads) {
            return run_quadratic(q, documents, q.function.width(), rows, num_threads);
          },
          nb::arg("documents"), nb::arg("rows"), nb::kw_only(), nb::arg("num_threads"),
          "Makes one pass in this order; returns the numbers of documents used, mistakes, and levels off.");
}

void bind_supports(nb::module_& m) {
  nb::class_<SupportLearner>(m, "SupportLearner", "PRank with Σ α (1 + x·x_s)² over at most `budget` documents.")
      .def(nb::init<std::size_t, std::size_t, std::size_t>(), nb::arg("width"), nb::arg("budget"),
           nb::arg("thresholds"))
      .def("thresholds", [](const SupportLearner& q) { return copied(q.thresholds); })
      .def("alpha",
           [](const SupportLearner& q) {
             std::vector<double> out(q.function.count());
             for (std::size_t s = 0; s < out.size(); ++s) out[s] = q.function.alpha(s);
             return to_numpy(std::move(out));
           })
      .def("keys",
           [](const SupportLearner& q) {
             std::vector<std::uint64_t> out(q.function.count());
             for (std::size_t s = 0; s < out.size(); ++s) out[s] = q.function.key(s);
             return to_numpy(std::move(out));
           })
      .def("inputs",
           [](const SupportLearner& q) {
             std::vector<double> out(q.function.count() * q.width);
             for (std::size_t s = 0; s < q.function.count(); ++s) q.function.get(s, out.data() + s * q.width);
             return to_numpy(std::move(out));
           })
      .def(
          "set",
          [](SupportLearner& q, Floats inputs, Floats alpha, Vector<std::uint64_t> keys, Floats thresholds) {
            if (q.function.count() != 0) throw std::invalid_argument("there are supports already");
            check_size("inputs", inputs.size(), alpha.size() * q.width);
            check_size("keys", keys.size(), alpha.size());
            check_size("thresholds", thresholds.size(), q.thresholds.size());
            for (std::size_t s = 0; s < alpha.size(); ++s) {
              q.function.append(inputs.data() + s * q.width, alpha.data()[s], keys.data()[s]);
            }
            std::copy_n(thresholds.data(), thresholds.size(), q.thresholds.begin());
          },
          nb::arg("inputs"), nb::arg("alpha"), nb::arg("keys"), nb::arg("thresholds"))
      .def(
          "run",
          [](SupportLearner& q, const OnlineDocuments& documents, Vector<std::int64_t> rows, int num_threads) {
            return run_quadratic(q, documents, q.width, rows, num_threads);
          },
          nb::arg("documents"), nb::arg("rows"), nb::kw_only(), nb::arg("num_threads"),
          "Makes one pass in this order; returns the numbers of documents used, mistakes, and levels off.");
}

}  // namespace

void bind_online(nb::module_& m) {
  nb::class_<OnlineDocuments>(m, "OnlineDocuments", "Documents to learn from one by one.")
      .def(nb::init<Matrix<float>, Floats, Floats, Floats, Vector<std::int32_t>, Vector<std::uint64_t>>(),
           nb::arg("features"), nb::arg("center"), nb::arg("scale"), nb::arg("filled"), nb::arg("levels"),
           nb::arg("keys"));
  bind_perceptrons(m);
  bind_quadratic(m);
  bind_supports(m);
  m.def(
      "quadratic_scores",
      [](Floats function, Matrix<float> features, Floats center, Floats scale, Floats filled, int num_threads) {
        Quadratic quadratic(center.size());
        const InputMap map = checked_map(center.size(), features, center, scale, filled);
        check_size("function", function.size(), quadratic.size());
        quadratic.set(span_of(function));
        std::vector<double> out(features.shape(0));
        {
          const ReleasedGil released;
          quadratic_scores(quadratic, {features.data(), features.size()}, out.size(), map, num_threads, out.data());
        }
        return to_numpy(std::move(out));
      },
      nb::arg("function"), nb::arg("features"), nb::arg("center"), nb::arg("scale"), nb::arg("filled"),
      nb::arg("num_threads"), "Returns xᵀ A x + w·x + c of every row; A, w and c are in one vector.");
  m.def(
      "quadratic_backward",
      [](Matrix<float> features, Floats center, Floats scale, Floats filled, Floats force, int num_threads) {
        Quadratic quadratic(center.size());
        const InputMap map = checked_map(center.size(), features, center, scale, filled);
        check_size("force", force.size(), features.shape(0));
        std::vector<double> out(quadratic.size());
        {
          const ReleasedGil released;
          quadratic_backward(quadratic, {features.data(), features.size()}, features.shape(0), map, span_of(force),
                             num_threads);
          quadratic.get(out.data());
        }
        return to_numpy(std::move(out));
      },
      nb::arg("features"), nb::arg("center"), nb::arg("scale"), nb::arg("filled"), nb::arg("force"),
      nb::arg("num_threads"), "Returns Σ over documents of force · ∂f/∂(A, w, c).");
}

}  // namespace podium::bind
