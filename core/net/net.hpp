// A net of dense layers: s = g(W_L a(… a(W_1 x̂ + b_1) …) + b_L). No hidden layer makes it a linear model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cache_lines.hpp"
#include "net/dense.hpp"
#include "parallel.hpp"

namespace podium {

struct NetShape {
  std::vector<std::size_t> widths;  // features, hidden layers, outputs
  Activation activation = Activation::tanh;
  Activation output = Activation::identity;  // the transfer function g of the scores

  std::size_t features() const { return widths.front(); }
  std::size_t outputs() const { return widths.back(); }
  std::size_t layers() const { return widths.size() - 1; }
};

// The map from a feature to an input: x̂ = (x − center) · scale, or `filled` if x is missing.
struct InputMap {
  std::span<const double> center, scale, filled;

  // Rows of features that follow each other.
  FeatureRows rows(const float* features) const {
    return {features, center.size(), center.data(), scale.data(), filled.data()};
  }
};

// The place of a layer's numbers in the core's vector of parameters. Weights are stored in panels of kWidePanel
// columns, each a matrix [inputs × panel]; a layer with one output is a row. Padding is zero and stays zero.
struct Layer {
  std::size_t inputs, outputs, stride;  // stride: distance between rows of its outputs
  std::size_t weights, bias, end;
  bool single() const { return outputs == 1; }
  bool few() const { return outputs > 1 && outputs <= kFewColumns; }
  std::size_t padded() const { return round_up(outputs, 4); }
  std::size_t panels() const { return (padded() + kWidePanel - 1) / kWidePanel; }
  std::size_t panel_columns(std::size_t p) const { return std::min(kWidePanel, padded() - p * kWidePanel); }
  std::size_t panel_outputs(std::size_t p) const { return std::min(kWidePanel, outputs - p * kWidePanel); }
};

class DenseNet {
 public:
  explicit DenseNet(NetShape shape);

  const NetShape& shape() const { return shape_; }
  std::span<const Layer> layers() const { return layers_; }
  // Converts numbers between the core's layout and the public one: W_1 [inputs × outputs], b_1, W_2, ….
  std::size_t held_size() const { return layers_.back().end; }
  std::size_t size() const { return size_; }
  void hold(std::span<const double> given, double* held) const;
  void give(std::span<const double> held, double* given) const;

 private:
  template <class Visit>
  void each(Visit&& visit) const;

  NetShape shape_;
  std::vector<Layer> layers_;
  std::size_t size_ = 0;
};

// The workspace for one batch of documents: inputs, the outputs of each layer, and the forces on them.
class NetBatch {
 public:
  NetBatch(const DenseNet& net, int num_threads) : net_(net), num_threads_(num_threads) {}

  // Allocates memory for `rows` documents. Then inputs are set, scores computed, and forces on the scores passed back.
  void reserve(std::size_t rows);
  std::size_t rows() const { return rows_; }
  void set_inputs(std::size_t first, std::size_t last, const float* features, const InputMap& map);
  void forward(const double* parameters);
  // [rows × outputs], to read after forward and to overwrite with forces before backward.
  double* scores() { return scores_.data(); }
  // gradient += Σ over documents of force · ∂s/∂parameter, or = if it is new; then padding must be zero.
  void backward(const double* parameters, double* gradient, bool is_new = false);
  // To be called when the parameters have changed.
  void forget_weights() { transposed_known_ = false; }
  // Backward uses what another batch of the same net has prepared from the parameters.
  void share_weights(const NetBatch& other) { prepared_ = &other; }

  // The same in steps: forward and backward of some rows on the caller's thread, then the sums over all documents,
  // which threads share. Before the first backward of a batch it must be prepared.
  void forward_rows(const double* parameters, std::size_t first, std::size_t last);
  // Sets the inputs of rows [first, last) from their features, and computes their scores.
  void set_and_forward(const double* parameters, const float* features, const InputMap& map, std::size_t first,
                       std::size_t last);
  // To be called before set_and_forward if the features of all rows follow each other: a net of one row of weights then
  // reads them in place, forward and backward, and stores no inputs. `next` is the features that will be read after
  // these: backward asks for their memory.
  void take_features(const float* features, const InputMap& map, const float* next);
  void prepare_backward(const double* parameters);
  void backward_rows(const double* parameters, std::size_t first, std::size_t last);
  void add_weight_gradients(double* gradient, bool is_new = false);
  // The memory that one document needs.
  std::size_t row_bytes() const;
  // Whether a step over this batch takes long enough to be shared by threads: about twenty microseconds.
  bool worth() const { return rows_ * work_ > 200'000; }

 private:
  void transfer(std::size_t first, std::size_t last);
  static std::size_t gradient_parts(const Layer& layer);
  void add_gradient_part(std::size_t part, double* gradient, bool is_new);
  void add_bias_gradient(std::size_t layer, double* gradient, bool is_new);
  // The inputs of a layer from a row on, and the forces on its outputs.
  double* inputs(std::size_t layer, std::size_t row) {
    return (layer == 0 ? inputs_.data() : outputs_[layer - 1].data()) + row * input_stride(layer);
  }
  FeatureRows features_from(std::size_t row, std::size_t column) const;
  bool is_scores(std::size_t layer) const { return layer + 1 == net_.layers().size() && net_.layers()[layer].single(); }
  std::size_t input_stride(std::size_t layer) const;

  const DenseNet& net_;
  int num_threads_;
  std::size_t rows_ = 0, work_ = 0;
  bool transposed_known_ = false;
  const float* next_ = nullptr;
  FeatureRows in_place_{};  // the features of all rows if they are read in place, else null
  LineVector<double> inputs_;
  std::vector<double> scores_, ones_;
  std::vector<double> transferred_;                   // a copy of the scores, if there is a transfer function
  std::vector<LineVector<double>> outputs_, forces_;  // of hidden layers, and of a last layer with several outputs
  std::vector<LineVector<double>> transposed_;        // weights of layers past the first, in panels of their inputs
  const NetBatch* prepared_ = nullptr;                // another batch whose transposed weights are used
};

// Scores of every row of a matrix, [rows × outputs].
void net_scores(const DenseNet& net, const double* parameters, std::span<const float> features, std::size_t rows,
                const InputMap& map, int num_threads, double* scores);

// out = a · b, [rows × depth] · [depth × columns]. Every sum has the order of depth and does not depend on the other
// rows. A BLAS may sum the last row of an odd number of rows in another order.
void product(std::size_t rows, std::size_t depth, std::size_t columns, const double* a, const double* b,
             int num_threads, double* out);

}  // namespace podium
