#include <stdexcept>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "scoring/finite.hpp"
#include "scoring/forest.hpp"

namespace podium::bind {
namespace {

using nb::literals::operator""_a;

// Features in any memory order.
template <class T>
using Features = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::device::cpu>;

template <class T>
ScoreTable<T> table_of(const Features<T>& features) {
  return {features.data(), features.shape(0), features.shape(1), features.stride(0), features.stride(1)};
}

template <class T>
ScoreTable<T> table_of(const Forest& forest, const Features<T>& features) {
  if (features.shape(1) != forest.features()) throw std::invalid_argument("the forest has another number of features");
  return table_of(features);
}

template <class T>
bool has_infinite(Features<T> features, int num_threads) {
  const ReleasedGil released;
  return any_infinite(table_of(features), num_threads);
}

void make_forest(Forest* self, std::size_t n_features, Vector<double> start, bool float_sums,
                 Vector<std::int64_t> node_offsets, Vector<std::int64_t> leaf_offsets, Vector<std::int32_t> feature,
                 Vector<float> threshold, Vector<std::int32_t> left, Vector<std::int32_t> right,
                 Vector<std::uint8_t> missing_left, Vector<std::int32_t> set, Vector<std::uint64_t> sets,
                 Vector<double> value, Vector<std::int32_t> category_features, Vector<std::int64_t> category_offsets,
                 Vector<float> categories) {
  const ForestArrays arrays{
      as_span(node_offsets), as_span(leaf_offsets), as_span(feature),           as_span(threshold),
      as_span(left),         as_span(right),        as_span(missing_left),      as_span(set),
      as_span(sets),         as_span(value),        as_span(category_features), as_span(category_offsets),
      as_span(categories)};
  new (self) Forest(arrays, n_features, as_span(start), float_sums ? Sums::kFloat : Sums::kDouble);
}

template <class T>
void scores(const Forest& forest, Features<T> features, MutableVector<double> out, int num_threads) {
  const ScoreTable<T> table = table_of(forest, features);
  if (out.size() != table.rows * forest.outputs()) {
    throw std::invalid_argument("out must have one number per document and output");
  }
  const ReleasedGil released;
  forest.scores(table, {out.data(), out.size()}, num_threads);
}

template <class T>
void leaves(const Forest& forest, Features<T> features, MutableMatrix<std::int32_t> out, int num_threads) {
  const ScoreTable<T> table = table_of(forest, features);
  if (out.size() != table.rows * forest.trees()) {
    throw std::invalid_argument("out must have one number per document and tree");
  }
  const ReleasedGil released;
  forest.leaves(table, {out.data(), out.size()}, num_threads);
}

}  // namespace

void bind_scoring(nb::module_& m) {
  const char* about = "Whether a feature is infinite, or too large for float32.";
  m.def("any_infinite", &has_infinite<float>, "features"_a.noconvert(), "num_threads"_a, about);
  m.def("any_infinite", &has_infinite<double>, "features"_a.noconvert(), "num_threads"_a, about);
  nb::class_<Forest>(m, "Forest", "Trained trees, compiled for scoring.")
      .def("__init__", &make_forest, nb::kw_only(), "n_features"_a, "start"_a, "float_sums"_a, "node_offsets"_a,
           "leaf_offsets"_a, "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "set"_a, "sets"_a,
           "value"_a, "category_features"_a, "category_offsets"_a, "categories"_a)
      .def("scores", &scores<float>, "features"_a.noconvert(), "out"_a, "num_threads"_a)
      .def("scores", &scores<double>, "features"_a.noconvert(), "out"_a, "num_threads"_a)
      .def("leaves", &leaves<float>, "features"_a.noconvert(), "out"_a, "num_threads"_a)
      .def("leaves", &leaves<double>, "features"_a.noconvert(), "out"_a, "num_threads"_a);
}

}  // namespace podium::bind
