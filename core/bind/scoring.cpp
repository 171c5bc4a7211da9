#include <stdexcept>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "scoring/forest.hpp"

namespace podium::bind {
namespace {

using nb::literals::operator""_a;

// Features of type float or double, in any memory order.
using AnyMatrix = nb::ndarray<nb::ro, nb::numpy, nb::ndim<2>, nb::device::cpu>;

template <class T>
ScoreTable<T> table_of(const AnyMatrix& features) {
  return {static_cast<const T*>(features.data()), features.shape(0), features.shape(1), features.stride(0),
          features.stride(1)};
}

// Calls use(table) with the features as they lie in memory.
template <class Use>
void with_table(const AnyMatrix& features, const Forest& forest, Use&& use) {
  if (features.shape(1) != forest.features()) throw std::invalid_argument("the forest has another number of features");
  if (features.dtype() == nb::dtype<float>()) {
    use(table_of<float>(features));
  } else if (features.dtype() == nb::dtype<double>()) {
    use(table_of<double>(features));
  } else {
    throw std::invalid_argument("features must be float32 or float64");
  }
}

void make_forest(Forest* self, std::size_t n_features, std::size_t outputs, Vector<std::int64_t> node_offsets,
                 Vector<std::int64_t> leaf_offsets, Vector<std::int32_t> feature, Vector<float> threshold,
                 Vector<std::int32_t> left, Vector<std::int32_t> right, Vector<std::uint8_t> missing_left,
                 Vector<std::int32_t> set, Vector<std::uint64_t> sets, Vector<double> value,
                 Vector<std::int32_t> category_features, Vector<std::int64_t> category_offsets,
                 Vector<float> categories) {
  const ForestArrays arrays{
      as_span(node_offsets), as_span(leaf_offsets), as_span(feature),           as_span(threshold),
      as_span(left),         as_span(right),        as_span(missing_left),      as_span(set),
      as_span(sets),         as_span(value),        as_span(category_features), as_span(category_offsets),
      as_span(categories)};
  new (self) Forest(arrays, n_features, outputs);
}

void scores(const Forest& forest, AnyMatrix features, MutableVector<double> out, int num_threads) {
  if (out.size() != features.shape(0) * forest.outputs()) {
    throw std::invalid_argument("out must have one number per document and output");
  }
  const ReleasedGil released;
  with_table(features, forest, [&](const auto& table) { forest.scores(table, {out.data(), out.size()}, num_threads); });
}

void leaves(const Forest& forest, AnyMatrix features, MutableMatrix<std::int32_t> out, int num_threads) {
  if (out.size() != features.shape(0) * forest.trees()) {
    throw std::invalid_argument("out must have one number per document and tree");
  }
  const ReleasedGil released;
  with_table(features, forest, [&](const auto& table) { forest.leaves(table, {out.data(), out.size()}, num_threads); });
}

}  // namespace

void bind_scoring(nb::module_& m) {
  nb::class_<Forest>(m, "Forest", "Trained trees, compiled for scoring.")
      .def("__init__", &make_forest, nb::kw_only(), "n_features"_a, "outputs"_a, "node_offsets"_a, "leaf_offsets"_a,
           "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "set"_a, "sets"_a, "value"_a,
           "category_features"_a, "category_offsets"_a, "categories"_a)
      .def("scores", &scores, "features"_a, "out"_a, "num_threads"_a)
      .def("leaves", &leaves, "features"_a, "out"_a, "num_threads"_a);
}

}  // namespace podium::bind
