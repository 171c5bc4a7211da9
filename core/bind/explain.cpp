#include <stdexcept>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "trees/shap.hpp"

namespace podium::bind {
namespace {

using nb::literals::operator""_a;

void make_shap(ForestShap* self, std::size_t n_features, std::size_t outputs, Vector<std::int64_t> node_offsets,
               Vector<std::int64_t> leaf_offsets, Vector<std::int32_t> feature, Vector<float> threshold,
               Vector<std::int32_t> left, Vector<std::int32_t> right, Vector<std::uint8_t> missing_left,
               Vector<std::int32_t> set, Vector<std::uint64_t> sets, Vector<double> value,
               Vector<std::int32_t> category_features, Vector<std::int64_t> category_offsets, Vector<float> categories,
               Vector<std::int64_t> documents) {
  const ForestArrays arrays{
      as_span(node_offsets), as_span(leaf_offsets), as_span(feature),           as_span(threshold),
      as_span(left),         as_span(right),        as_span(missing_left),      as_span(set),
      as_span(sets),         as_span(value),        as_span(category_features), as_span(category_offsets),
      as_span(categories)};
  new (self) ForestShap(arrays, as_span(documents), n_features, outputs);
}

void attributions(const ForestShap& shap, Matrix<float> features, MutableVector<double> out, int num_threads) {
  if (features.shape(1) != shap.features()) throw std::invalid_argument("as many features as the forest has");
  if (out.size() != features.shape(0) * shap.outputs() * (shap.features() + 1)) {
    throw std::invalid_argument("one number per document, output and feature, and one more per document and output");
  }
  const ReleasedGil released;
  shap.attributions({features.data(), features.shape(0), features.shape(1)}, {out.data(), out.size()}, num_threads);
}

}  // namespace

void bind_explain(nb::module_& m) {
  nb::class_<ForestShap>(m, "ForestShap", "Trained trees, prepared for attributions.")
      .def("__init__", &make_shap, nb::kw_only(), "n_features"_a, "outputs"_a, "node_offsets"_a, "leaf_offsets"_a,
           "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "set"_a, "sets"_a, "value"_a,
           "category_features"_a, "category_offsets"_a, "categories"_a, "documents"_a)
      .def("attributions", &attributions, "features"_a, "out"_a, "num_threads"_a);
}

}  // namespace podium::bind
