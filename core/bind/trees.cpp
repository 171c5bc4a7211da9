#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cfloat>
#include <stdexcept>
#include <system_error>

#include "bind/bind.hpp"
#include "bind/force_inputs.hpp"
#include "trees/boost.hpp"
#include "trees/fixed_point.hpp"

namespace podium::bind {
namespace {

using nb::literals::operator""_a;

FeatureTable table_of(const Matrix<float>& features) {
  return {features.data(), features.shape(0), features.shape(1)};
}

void check_size(std::size_t found, std::size_t wanted, const char* what) {
  if (found != wanted) throw std::invalid_argument(what);
}

struct Bins {
  std::vector<FeatureBins> features;
};

// The features are in several tables; each has a sample of its own.
Bins make_bins(const std::vector<Matrix<float>>& features, const std::vector<Vector<std::int64_t>>& samples,
               std::size_t max_bins, Vector<std::uint8_t> categorical, int num_threads) {
  check_size(samples.size(), features.size(), "one sample per table");
  if (max_bins < 2 || max_bins > kMostBins) throw std::invalid_argument("from 2 to 255 bins");
  std::vector<const float*> rows;
  for (std::size_t k = 0; k < features.size(); ++k) {
    check_size(features[k].shape(1), categorical.size(), "one mark per feature");
    for (const std::int64_t row : as_span(samples[k])) {
      if (row < 0 || static_cast<std::size_t>(row) >= features[k].shape(0)) {
        throw std::invalid_argument("a row of the sample is not there");
      }
      rows.push_back(features[k].data() + static_cast<std::size_t>(row) * categorical.size());
    }
  }
  const ReleasedGil released;
  return {choose_bins(rows, categorical.size(), max_bins, as_span(categorical), num_threads)};
}

void make_booster(Booster* self, const Bins& bins, Vector<std::int64_t> query_offsets, Vector<std::uint64_t> query_keys,
                  bool share_bytes, std::size_t wide_cell_documents, std::string folder, int num_threads) {
  check_size(query_offsets.size(), query_keys.size() + 1, "one key per query");
  const std::int64_t rows = query_offsets.data()[query_keys.size()];
  if (rows < 0 || rows >= std::int64_t{1} << 31) throw std::invalid_argument("fewer than 2^31 documents");
  if (wide_cell_documents > std::size_t{1} << 30) throw std::invalid_argument("at most 2^30 documents in narrow cells");
  const ReleasedGil released;
  new (self) Booster(bins.features, as_span(query_offsets), as_span(query_keys), share_bytes, wide_cell_documents,
                     std::move(folder), num_threads);
}

// An exchange in Python: an object with the method combine, which changes two arrays in place. The arrays are views of
// the core's memory and are gone when the method returns.
class PythonExchange : public Exchange {
 public:
  explicit PythonExchange(nb::object exchange) : held_(hold_with_gil(new nb::object(std::move(exchange)))) {}
  void combine(std::span<std::int64_t> sums, std::span<double> maxima) override {
    const nb::gil_scoped_acquire gil;
    static_cast<nb::object*>(held_.get())->attr("combine")(view(sums), view(maxima));
  }

 private:
  template <class T>
  static nb::ndarray<T, nb::numpy, nb::ndim<1>> view(std::span<T> numbers) {
    static T none;
    T* data = numbers.empty() ? &none : numbers.data();
    const nb::capsule owner(data, [](void*) noexcept {});  // with an owner nothing is copied
    return nb::ndarray<T, nb::numpy, nb::ndim<1>>(data, {numbers.size()}, owner);
  }

  std::shared_ptr<void> held_;
};

void join(Booster& booster, nb::object exchange) {
  check_size(booster.appended(), booster.rows(), "the features of every document");
  const auto held = std::make_shared<PythonExchange>(std::move(exchange));
  const ReleasedGil released;
  booster.join(held);
}

void check_features(const Booster& booster, const Matrix<float>& features) {
  check_size(features.shape(1), booster.features().size(), "as many features as the booster has");
}

void append(Booster& booster, Matrix<float> features) {
  check_features(booster, features);
  if (features.shape(0) > booster.rows() - booster.appended()) throw std::invalid_argument("too many documents");
  const ReleasedGil released;
  booster.append(table_of(features));
}

void bin(const Booster& booster, Matrix<float> features, std::size_t first, BinColumns& columns) {
  check_features(booster, features);
  if (first > columns.rows() || features.shape(0) > columns.rows() - first) {
    throw std::invalid_argument("too many documents");
  }
  const ReleasedGil released;
  booster.bin(table_of(features), first, columns);
}

void check_ready(const Booster& booster, const BoostSettings& settings) {
  check_size(booster.appended(), booster.rows(), "the features of every document");
  if (!settings.grow.monotone.empty()) {
    check_size(settings.grow.monotone.size(), booster.features().size(), "monotone must have one entry per feature");
  }
}

BoostedTree grow(Booster& booster, Vector<double> force, Vector<double> curvature, const BoostSettings& settings,
                 std::uint64_t draw) {
  check_ready(booster, settings);
  check_size(force.size(), booster.rows(), "one force per document");
  check_size(curvature.size(), booster.rows(), "one curvature per document");
  const ReleasedGil released;
  return booster.grow(as_span(force), as_span(curvature), settings, draw);
}

// The next tree of each forest, from the force on the forest's own scores.
std::vector<BoostedTree> grow_forests(Booster& booster, const PreparedForce& prepared,
                                      const std::vector<Vector<double>>& scores, std::uint64_t seed,
                                      const std::vector<std::uint64_t>& rounds, const BoostSettings& settings,
                                      const std::vector<std::uint64_t>& draws) {
  if (scores.empty()) throw std::invalid_argument("at least one forest");
  if (booster.joined()) throw std::invalid_argument("workers grow forests one after the other");
  check_ready(booster, settings);
  check_size(rounds.size(), scores.size(), "one round per forest");
  check_size(draws.size(), scores.size(), "one draw per forest");
  for (const Vector<double>& own : scores) check_size(own.size(), booster.rows(), "one score per document");
  const ForceInputs& data = prepared.data();
  check_size(data.labels.size(), booster.rows(), "one label per document");
  check_size(static_cast<std::size_t>(as_span(data.query_offsets).back()), booster.rows(),
             "the queries of the booster");
  const ReleasedGil released;
  const auto find_force = [&](std::size_t forest, int num_threads, std::span<double> own, std::span<double> curvature) {
    const ForceTable table = prepared.table(as_span(scores[forest]), {}, seed, rounds[forest]);
    apply_force(prepared.force(), table, num_threads, {own.data(), curvature.data()});
  };
  return booster.grow_forests(find_force, settings, draws);
}

void add(Booster& booster, const BoostedTree& tree, const BinColumns* columns, double scale,
         MutableVector<double> scores, std::size_t output, std::size_t outputs) {
  const std::size_t rows = columns == nullptr ? booster.rows() : columns->rows();
  check_size(scores.size(), rows * outputs, "one score per document and output");
  if (output >= outputs) throw std::invalid_argument("there is no such output");
  const nb::gil_scoped_release release;  // it is quick, and half-updated scores would be useless
  if (columns == nullptr) {
    booster.add(tree, scale, scores.data() + output, outputs);
  } else {
    booster.add(tree, *columns, scale, scores.data() + output, outputs);
  }
}

// Adds the last tree of each forest to the forest's own scores, and its share to those of all training documents and to
// those of others. A forest that is alone has no scores of its own.
void add_step(Booster& booster, const std::vector<const BoostedTree*>& trees, double share,
              const std::vector<MutableVector<double>>& own, MutableVector<double> scores, const BinColumns* columns,
              std::optional<MutableVector<double>> column_scores) {
  check_size(own.size(), trees.size() == 1 ? 0 : trees.size(), "one tree per forest");
  check_size(scores.size(), booster.rows(), "one score per document");
  check_size(column_scores ? column_scores->size() : 0, columns ? columns->rows() : 0, "one score per other document");
  std::vector<double*> own_scores;
  for (const MutableVector<double>& each : own) {
    check_size(each.size(), booster.rows(), "one score per document");
    own_scores.push_back(each.data());
  }
  const nb::gil_scoped_release release;  // it is quick, and half-updated scores would be useless
  booster.add_step(trees, share, own_scores, scores.data());
  if (columns == nullptr) return;
  for (const BoostedTree* const tree : trees) booster.add(*tree, *columns, share, column_scores->data(), 1);
}

// Trees over values, one after the other as forests keep them, and the numbers of nodes and leaves of each. Sets of
// categories are numbered from the first tree on.
nb::typed<nb::dict, nb::str, nb::object> tree_arrays(const Booster& booster,
                                                     const std::vector<const BoostedTree*>& trees) {
  std::vector<std::int32_t> feature, left, right, set;
  std::vector<float> threshold;
  std::vector<std::uint8_t> missing_left;
  std::vector<std::uint64_t> sets;
  std::vector<double> gains, values;
  std::vector<std::int64_t> documents, nodes, leaves;
  const auto append = [](auto& all, const auto& own) { all.insert(all.end(), own.begin(), own.end()); };
  for (const BoostedTree* const boosted : trees) {
    const auto before = static_cast<std::int32_t>(sets.size() / BinSet().size());
    for (const TreeNode& node : boosted->tree.nodes) {
      const std::uint32_t f = booster.used()[node.column];
      const auto& cuts = booster.features()[f].cuts;
      feature.push_back(static_cast<std::int32_t>(f)), left.push_back(node.left), right.push_back(node.right);
      missing_left.push_back(node.missing_left);
      set.push_back(node.categorical() ? before + static_cast<std::int32_t>(node.set) : -1);
      threshold.push_back(node.categorical() ? 0 : node.bin < cuts.size() ? cuts[node.bin] : FLT_MAX);
    }
    for (const BinSet& bins : boosted->tree.sets) append(sets, bins);
    append(gains, boosted->gains), append(values, boosted->values), append(documents, boosted->documents);
    nodes.push_back(static_cast<std::int64_t>(boosted->tree.nodes.size()));
    leaves.push_back(static_cast<std::int64_t>(boosted->values.size()));
  }
  nb::typed<nb::dict, nb::str, nb::object> out;
  out["feature"] = to_numpy(std::move(feature));
  out["threshold"] = to_numpy(std::move(threshold));
  out["left"] = to_numpy(std::move(left));
  out["right"] = to_numpy(std::move(right));
  out["missing_left"] = to_numpy(std::move(missing_left));
  out["set"] = to_numpy(std::move(set));
  out["sets"] = to_numpy(std::move(sets));
  out["gain"] = to_numpy(std::move(gains));
  out["value"] = to_numpy(std::move(values));
  out["documents"] = to_numpy(std::move(documents));
  out["nodes"] = to_numpy(std::move(nodes));
  out["leaves"] = to_numpy(std::move(leaves));
  return out;
}

// The tree that `tree_arrays` gave alone, for a booster with the same bins.
BoostedTree recall_tree(const Booster& booster, Vector<std::int32_t> feature, Vector<float> threshold,
                        Vector<std::int32_t> left, Vector<std::int32_t> right, Vector<std::uint8_t> missing_left,
                        Vector<std::int32_t> set, Vector<std::uint64_t> sets, Vector<double> gain, Vector<double> value,
                        Vector<std::int64_t> documents) {
  BoostedTree out;
  for (std::size_t k = 0; k < feature.size(); ++k) {
    const auto f = static_cast<std::uint32_t>(feature.data()[k]);
    const auto place = std::find(booster.used().begin(), booster.used().end(), f);
    if (place == booster.used().end()) throw std::invalid_argument("a feature that is not used");
    const auto& cuts = booster.features()[f].cuts;
    TreeNode node;
    node.column = static_cast<std::uint32_t>(place - booster.used().begin());
    node.left = left.data()[k], node.right = right.data()[k], node.missing_left = missing_left.data()[k] != 0;
    if (set.data()[k] >= 0) node.set = static_cast<std::uint16_t>(set.data()[k]);
    node.bin =
        static_cast<std::uint8_t>(std::lower_bound(cuts.begin(), cuts.end(), threshold.data()[k]) - cuts.begin());
    out.tree.nodes.push_back(node);
  }
  for (std::size_t k = 0; k + 4 <= sets.size(); k += 4) {
    out.tree.sets.push_back({sets.data()[k], sets.data()[k + 1], sets.data()[k + 2], sets.data()[k + 3]});
  }
  out.gains.assign(gain.data(), gain.data() + gain.size());
  out.values.assign(value.data(), value.data() + value.size());
  out.documents.assign(documents.data(), documents.data() + documents.size());
  return out;
}

void bind_settings(nb::module_& m) {
  nb::enum_<Growth>(m, "Growth")
      .value("leaf", Growth::leaf)
      .value("depth", Growth::depth)
      .value("symmetric", Growth::symmetric);
  nb::enum_<Sampling>(m, "Sampling").value("force", Sampling::force).value("uniform", Sampling::uniform);
  nb::class_<BoostSettings>(m, "BoostSettings", "How trees are grown; checked in Python.")
      .def(
          "__init__",
          [](BoostSettings* self, double learning_rate, std::uint32_t num_leaves, std::uint32_t max_depth,
             Growth growth, double l1, double l2, double min_curvature, double min_gain, std::uint32_t min_documents,
             double random_strength, bool random_thresholds, double row_sampling, Sampling sampling,
             double query_sampling, double column_sampling, std::vector<std::int8_t> monotone,
             std::size_t histogram_bytes) {
            new (self)
                BoostSettings{{{l1, l2, min_curvature, min_gain, min_documents, random_strength, random_thresholds},
                               num_leaves,
                               max_depth,
                               growth,
                               std::move(monotone),
                               histogram_bytes},
                              {row_sampling, sampling, query_sampling, column_sampling},
                              learning_rate};
          },
          nb::kw_only(), "learning_rate"_a, "num_leaves"_a, "max_depth"_a, "growth"_a, "l1"_a, "l2"_a,
          "min_curvature"_a, "min_gain"_a, "min_documents"_a, "random_strength"_a, "random_thresholds"_a,
          "row_sampling"_a, "sampling"_a, "query_sampling"_a, "column_sampling"_a, "monotone"_a, "histogram_bytes"_a);
}

void bind_booster(nb::module_& m) {
  nb::class_<Bins>(m, "Bins", "How features are cut into bins.")
      .def("cuts",
           [](const Bins& bins, std::size_t f) { return to_numpy(std::vector<float>(bins.features.at(f).cuts)); })
      .def("__len__", [](const Bins& bins) { return bins.features.size(); });
  m.def("make_bins", &make_bins, "features"_a, "sample"_a, "max_bins"_a, "categorical"_a, "num_threads"_a);
  nb::class_<BinColumns>(m, "BinColumns", "Documents as bins.");
  nb::class_<BoostedTree>(m, "BoostedTree", "A tree over bins.")
      .def_prop_ro("n_leaves", [](const BoostedTree& tree) { return tree.values.size(); })
      .def("forces", [](const BoostedTree& tree) { return to_numpy(std::vector<double>(tree.forces)); })
      .def(
          "set_values",
          [](BoostedTree& tree, Vector<double> values) {
            check_size(values.size(), tree.values.size(), "one value per leaf");
            tree.values.assign(values.data(), values.data() + values.size());
          },
          "values"_a, "Replaces the values of the leaves.");
  nb::class_<Booster>(m, "Booster", "The training documents as bins, from which trees are grown.")
      .def("__init__", &make_booster, "bins"_a, "query_offsets"_a, "query_keys"_a, "share_bytes"_a,
           "wide_cell_documents"_a, "folder"_a, "num_threads"_a)
      .def("append", &append, "features"_a, "Takes the features of the next documents.")
      .def("join", &join, "exchange"_a, "Grows trees together with other workers from here on.")
      .def("grow", &grow, "force"_a, "curvature"_a, "settings"_a, "draw"_a)
      .def("grow_forests", &grow_forests, "force"_a, "scores"_a, nb::kw_only(), "seed"_a, "rounds"_a, "settings"_a,
           "draws"_a)
      .def("make_columns", &Booster::make_columns, "rows"_a)
      .def("bin", &bin, "features"_a, "first"_a, "columns"_a, "Writes the bins of other documents.")
      .def("add", &add, "tree"_a, "columns"_a.none(), nb::kw_only(), "scale"_a, "scores"_a, "output"_a, "outputs"_a)
      .def("add_step", &add_step, "trees"_a, nb::kw_only(), "share"_a, "own"_a, "scores"_a, "columns"_a.none(),
           "column_scores"_a.none())
      .def("tree_arrays", &tree_arrays, "trees"_a)
      .def("recall_tree", &recall_tree, nb::kw_only(), "feature"_a, "threshold"_a, "left"_a, "right"_a,
           "missing_left"_a, "set"_a, "sets"_a, "gain"_a, "value"_a, "documents"_a);
}

}  // namespace

void bind_trees(nb::module_& m) {
  nb::exception<ForceRangeError>(m, "ForceRangeError", PyExc_ValueError);
  m.attr("LARGEST_FORCE") = kLargestForce;
  m.def("sum_exponent", &sum_exponent, "largest"_a, "documents"_a,
        "The exponent of the units of sums over so many documents, given the largest number.");
  m.def(
      "cell_exponent",
      [](double total, std::size_t documents, bool wide) {
        return cell_exponent(total, documents, wide ? kCellBits<WideCell> : kCellBits<NarrowCell>);
      },
      "total"_a, "documents"_a, "wide"_a,
      "The exponent of the units of cells of histograms, given the sum over all documents.");
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (
        const std::system_error& error) {  // a file could not be made: `what` is the folder, a colon and the reason
      const std::string reason = error.code().message(), what = error.what();
      const std::string folder = what.substr(0, what.size() - std::min(what.size(), reason.size() + 2));
      const nb::object arguments = nb::make_tuple(error.code().value(), reason, folder);
      PyErr_SetObject(PyExc_OSError, arguments.ptr());
    }
  });
  bind_settings(m);
  bind_booster(m);
}

}  // namespace podium::bind
