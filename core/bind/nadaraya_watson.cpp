#include "net/nadaraya_watson.hpp"

#include <stdexcept>
#include <string>

#include "bind/bind.hpp"

namespace podium::bind {
namespace {

using Floats = Vector<double>;

void check(bool fits, const char* what) {
  if (!fits) throw std::invalid_argument(std::string(what) + " has a size that does not fit the references");
}

Votes as_votes(const NadarayaWatsonKernel& model, const Matrix<double>& inputs, const Floats& log_mass,
               const Floats& labels) {
  check(inputs.shape(1) == model.features(), "a row of inputs");
  check(log_mass.size() == model.references(), "log_mass");
  check(labels.size() == model.references(), "labels");
  return {{log_mass.data(), log_mass.size()}, {labels.data(), labels.size()}};
}

}  // namespace

void bind_nadaraya_watson(nb::module_& m) {
  nb::class_<NadarayaWatsonKernel>(
      m, "NadarayaWatsonKernel", "The mean label of references, each weighted by a kernel with one width per feature.")
      .def(
          "__init__",
          [](NadarayaWatsonKernel* model, Matrix<double> references) {
            if (references.size() == 0) throw std::invalid_argument("there are no references");
            new (model) NadarayaWatsonKernel({references.data(), references.size()}, references.shape(1));
          },
          nb::arg("references"))
      .def(
          "set_widths",
          [](NadarayaWatsonKernel& model, Floats widths) {
            check(widths.size() == model.features(), "widths");
            model.set_widths({widths.data(), widths.size()});
          },
          nb::arg("widths"))
      .def(
          "scores",
          [](NadarayaWatsonKernel& model, Matrix<double> inputs, Floats log_mass, Floats labels, bool keep,
             int num_threads) {
            const Votes votes = as_votes(model, inputs, log_mass, labels);
            std::vector<double> out(inputs.shape(0));
            {
              const ReleasedGil released;
              model.scores({inputs.data(), out.size()}, votes, keep, num_threads, out.data());
            }
            return to_numpy(std::move(out));
          },
          nb::arg("inputs"), nb::arg("log_mass"), nb::arg("labels"), nb::arg("keep"), nb::arg("num_threads"),
          "Scores of every row; with `keep` a backward over the same rows is quicker.")
      .def(
          "backward",
          [](NadarayaWatsonKernel& model, Matrix<double> inputs, Floats log_mass, Floats labels, Floats force,
             bool kept, int num_threads) {
            const Votes votes = as_votes(model, inputs, log_mass, labels);
            check(force.size() == inputs.shape(0), "force");
            std::vector<double> out(model.features());
            {
              const ReleasedGil released;
              model.backward({inputs.data(), force.size()}, votes, force.data(), kept, num_threads, out.data());
            }
            return to_numpy(std::move(out));
          },
          nb::arg("inputs"), nb::arg("log_mass"), nb::arg("labels"), nb::arg("force"), nb::arg("kept"),
          nb::arg("num_threads"),
          "Σ over documents of force · ∂s/∂width; `kept` where the last scores kept were of the same rows and votes.");
}

}  // namespace podium::bind
