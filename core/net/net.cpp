#include "net/net.hpp"

#include <algorithm>
#include <utility>

#include "parallel.hpp"

namespace podium {

DenseNet::DenseNet(NetShape shape) : shape_(std::move(shape)) {
  std::size_t end = 0;
  for (std::size_t l = 0; l < shape_.layers(); ++l) {
    Layer layer{};
    layer.inputs = shape_.widths[l], layer.outputs = shape_.widths[l + 1];
    layer.stride = row_stride(layer.outputs);
    layer.weights = end;
    layer.bias = end + (layer.single() ? round_up(layer.inputs, 4) : layer.inputs * layer.padded());
    layer.end = end = layer.bias + (layer.single() ? 4 : layer.padded());
    size_ += layer.inputs * layer.outputs + layer.outputs;
    layers_.push_back(layer);
  }
}

// Calls visit(public number, core's number) for every number, in the public order.
template <class Visit>
void DenseNet::each(Visit&& visit) const {
  std::size_t given = 0;
  for (const Layer& layer : layers_) {
    for (std::size_t i = 0; i < layer.inputs; ++i) {
      for (std::size_t o = 0; o < layer.outputs; ++o) {
        const std::size_t p = o / kWidePanel;
        visit(given++, layer.single() ? layer.weights + i
                                      : layer.weights + p * kWidePanel * layer.inputs + i * layer.panel_columns(p) +
                                            (o - p * kWidePanel));
      }
    }
    for (std::size_t o = 0; o < layer.outputs; ++o) visit(given++, layer.bias + o);
  }
}

void DenseNet::hold(std::span<const double> given, double* held) const {
  std::fill_n(held, held_size(), 0.0);
  each([&](std::size_t g, std::size_t h) { held[h] = given[g]; });
}

void DenseNet::give(std::span<const double> held, double* given) const {
  each([&](std::size_t g, std::size_t h) { given[g] = held[h]; });
}

std::size_t NetBatch::input_stride(std::size_t layer) const {
  return layer == 0 ? row_stride(net_.shape().features()) : net_.layers()[layer - 1].stride;
}

std::size_t NetBatch::row_bytes() const {
  std::size_t numbers = input_stride(0);
  for (const Layer& layer : net_.layers()) numbers += 2 * layer.stride;
  return sizeof(double) * numbers;
}

void NetBatch::reserve(std::size_t rows) {
  rows_ = rows;
  in_place_ = {}, next_ = nullptr;
  const auto grow = [](auto& buffer, std::size_t size) {
    if (buffer.size() < size) buffer.resize(size);
  };
  grow(inputs_, rows * input_stride(0));
  grow(scores_, rows * net_.shape().outputs());
  if (net_.shape().output != Activation::identity) grow(transferred_, rows * net_.shape().outputs());
  if (ones_.size() < rows) ones_.resize(rows, 1.0);
  outputs_.resize(net_.layers().size());
  forces_.resize(net_.layers().size());
  work_ = 0;
  for (std::size_t l = 0; l < net_.layers().size(); ++l) {
    const Layer& layer = net_.layers()[l];
    work_ += layer.inputs * layer.outputs;
    if (l + 1 == net_.layers().size() && layer.single()) continue;
    grow(outputs_[l], rows * layer.stride);
    grow(forces_[l], rows * layer.stride);
  }
}

void NetBatch::set_inputs(std::size_t first, std::size_t last, const float* features, const InputMap& map) {
  const std::size_t stride = input_stride(0);
  dense_kernels().standardize(last - first, net_.shape().features(), map.rows(features),
                              inputs_.data() + first * stride, stride);
}

void NetBatch::take_features(const float* features, const InputMap& map, const float* next) {
  next_ = next;
  if (!is_scores(0)) return;
  in_place_ = map.rows(features);
  in_place_.next = next - features;
}

void NetBatch::set_and_forward(const double* parameters, const float* features, const InputMap& map, std::size_t first,
                               std::size_t last) {
  const std::size_t rows = net_.layers()[0].few() ? 16 : 24;  // stay in the fastest cache
  const std::size_t width = net_.shape().features();
  if (in_place_.x) return forward_rows(parameters, first, last);
  for (std::size_t begin = first; begin < last; begin += rows) {
    const std::size_t end = std::min(last, begin + rows);
    set_inputs(begin, end, features + (begin - first) * width, map);
    forward_rows(parameters, begin, end);
  }
}

void NetBatch::forward_rows(const double* parameters, std::size_t first, std::size_t last) {
  const DenseKernels& kernels = dense_kernels();
  const auto layers = net_.layers();
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = layers[l];
    const std::size_t stride = input_stride(l), rows = last - first;
    const double* const x = inputs(l, first);
    const double* const bias = parameters + layer.bias;
    const bool final = l + 1 == layers.size();
    if (final && in_place_.x) {
      kernels.feature_dots(rows, layer.inputs, features_from(first, 0), parameters + layer.weights, *bias,
                           scores_.data() + first);
      break;
    }
    if (final && layer.single()) {
      kernels.dots(rows, layer.inputs, x, stride, parameters + layer.weights, *bias, scores_.data() + first);
      break;
    }
    double* const y = outputs_[l].data() + first * layer.stride;
    if (layer.single()) {  // a hidden layer of one unit stores its weights as a row and is computed by dot products
      for (std::size_t i = 0; i < rows; ++i) {
        kernels.dots(1, layer.inputs, x + i * stride, stride, parameters + layer.weights, *bias, y + i * layer.stride);
      }
    } else {
      for (std::size_t p = 0; p < layer.panels(); ++p) {
        kernels.multiply({.rows = rows,
                          .columns = layer.panel_outputs(p),
                          .depth = layer.inputs,
                          .a = x,
                          .a_row = stride,
                          .a_step = 1,
                          .b = parameters + layer.weights + p * kWidePanel * layer.inputs,
                          .b_row = layer.panel_columns(p),
                          .start = bias + p * kWidePanel,
                          .start_row = 0,
                          .c = y + p * kWidePanel,
                          .c_row = layer.stride});
      }
    }
    if (!final) {
      kernels.activate(net_.shape().activation, rows * layer.stride, y);  // padding too, which nothing reads
    } else {
      for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(y + i * layer.stride, layer.outputs, scores_.data() + (first + i) * layer.outputs);
      }
    }
  }
  transfer(first, last);
}

// Applies the transfer function to the outputs of the last layer. The result is kept, because forces overwrite scores.
void NetBatch::transfer(std::size_t first, std::size_t last) {
  const Activation output = net_.shape().output;
  if (output == Activation::identity) return;
  const std::size_t begin = first * net_.shape().outputs(), count = (last - first) * net_.shape().outputs();
  dense_kernels().activate(output, count, scores_.data() + begin);
  std::copy_n(scores_.data() + begin, count, transferred_.data() + begin);
}

void NetBatch::forward(const double* parameters) {
  parallel_for(rows_, worth() ? num_threads_ : 1, 32,
               [&](std::size_t first, std::size_t last) { forward_rows(parameters, first, last); });
}

// Weights of layers after the first as [outputs × inputs], in panels of inputs: forces on outputs are multiplied by
// them to give forces on inputs.
void NetBatch::prepare_backward(const double* parameters) {
  if (prepared_ || std::exchange(transposed_known_, true)) return;
  transposed_.resize(net_.layers().size());
  for (std::size_t l = 1; l < net_.layers().size(); ++l) {
    const Layer& layer = net_.layers()[l];
    if (layer.single()) continue;
    const std::size_t padded = round_up(layer.inputs, 4);
    transposed_[l].assign(layer.outputs * padded, 0.0);
    for (std::size_t p = 0; p < layer.panels(); ++p) {
      const std::size_t columns = layer.panel_columns(p), last = std::min(columns, layer.outputs - p * kWidePanel);
      const double* const w = parameters + layer.weights + p * kWidePanel * layer.inputs;
      for (std::size_t i = 0; i < layer.inputs; ++i) {
        const std::size_t panel = i / kWidePanel, width = std::min(kWidePanel, padded - panel * kWidePanel);
        double* const to = transposed_[l].data() + panel * kWidePanel * layer.outputs + (i - panel * kWidePanel);
        for (std::size_t c = 0; c < last; ++c) to[(p * kWidePanel + c) * width] = w[i * columns + c];
      }
    }
  }
}

void NetBatch::backward_rows(const double* parameters, std::size_t first, std::size_t last) {
  const DenseKernels& kernels = dense_kernels();
  const auto layers = net_.layers();
  const std::size_t rows = last - first;
  const Layer& top = layers.back();
  const auto& transposed = prepared_ ? prepared_->transposed_ : transposed_;
  if (net_.shape().output != Activation::identity) {
    kernels.times_slope(net_.shape().output, rows * top.outputs, transferred_.data() + first * top.outputs,
                        scores_.data() + first * top.outputs);
  }
  if (!top.single()) {
    for (std::size_t i = first; i < last; ++i) {
      double* const d = forces_.back().data() + i * top.stride;
      std::fill_n(std::copy_n(scores_.data() + i * top.outputs, top.outputs, d), top.padded() - top.outputs, 0.0);
    }
  }
  for (std::size_t l = layers.size() - 1; l > 0; --l) {
    const Layer &layer = layers[l], &below = layers[l - 1];
    double* const d = forces_[l - 1].data() + first * below.stride;
    const bool scores = l + 1 == layers.size() && layer.single();
    const std::size_t stride = scores ? 1 : layer.stride;
    const double* const above = (scores ? scores_.data() : forces_[l].data()) + first * stride;
    const std::size_t padded = round_up(layer.inputs, 4);
    if (layer.single()) {
      const double* const w = parameters + layer.weights;
      for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t j = 0; j < padded; ++j) d[i * below.stride + j] = above[i * stride] * w[j];
      }
    } else {
      for (std::size_t p = 0; p * kWidePanel < padded; ++p) {
        const std::size_t columns = std::min(kWidePanel, padded - p * kWidePanel);
        kernels.multiply({.rows = rows,
                          .columns = columns,
                          .depth = layer.outputs,
                          .a = above,
                          .a_row = stride,
                          .a_step = 1,
                          .b = transposed[l].data() + p * kWidePanel * layer.outputs,
                          .b_row = columns,
                          .start = nullptr,
                          .start_row = 0,
                          .c = d + p * kWidePanel,
                          .c_row = below.stride});
      }
    }
    kernels.times_slope(net_.shape().activation, rows * below.stride, outputs_[l - 1].data() + first * below.stride, d);
  }
}

FeatureRows NetBatch::features_from(std::size_t row, std::size_t column) const {
  FeatureRows part = in_place_;
  part.x += row * part.x_row + column;
  part.center += column, part.scale += column, part.filled += column;
  return part;
}

// The sums over documents of a layer are cut into parts, each of which one thread adds up in the order of the
// documents, so that no sum depends on the number of threads: blocks of inputs, of every panel of the outputs, and last
// the bias.
namespace {
std::size_t inputs_of_part(const Layer& layer) {
  return layer.single() ? 64 : layer.few() ? 48 : 24;
}
}  // namespace

std::size_t NetBatch::gradient_parts(const Layer& layer) {
  const std::size_t inputs = inputs_of_part(layer);
  return (layer.inputs + inputs - 1) / inputs * (layer.single() ? 1 : layer.panels()) + 1;
}

// Parts are numbered through all layers.
void NetBatch::add_gradient_part(std::size_t part, double* gradient, bool is_new) {
  std::size_t l = 0;
  for (; part >= gradient_parts(net_.layers()[l]); ++l) part -= gradient_parts(net_.layers()[l]);
  const Layer& layer = net_.layers()[l];
  if (part + 1 == gradient_parts(layer)) return add_bias_gradient(l, gradient, is_new);
  const std::size_t panels = layer.single() ? 1 : layer.panels(), block = inputs_of_part(layer);
  const std::size_t begin = part / panels * block, count = std::min(block, layer.inputs - begin);
  const double* const x = inputs(l, 0) + begin;
  double* const sums = gradient + layer.weights;
  if (layer.single()) {
    if (is_new) std::fill_n(sums + begin, count, 0.0);
    std::vector<double> column;
    for (std::size_t i = 0; !is_scores(l) && i < rows_; ++i) column.push_back(forces_[l][i * layer.stride]);
    const double* const d = is_scores(l) ? scores_.data() : column.data();
    if (in_place_.x) return dense_kernels().add_feature_rows(rows_, count, d, features_from(0, begin), sums + begin);
    return dense_kernels().add_rows(rows_, count, d, x, input_stride(l), sums + begin);
  }
  const std::size_t panel = part % panels, columns = layer.panel_columns(panel);
  const double* const d = forces_[l].data() + panel * kWidePanel;
  double* const block_sums = sums + panel * kWidePanel * layer.inputs + begin * columns;
  Product product{.rows = count,
                  .columns = layer.panel_outputs(panel),
                  .depth = rows_,
                  .a = x,
                  .a_row = 1,
                  .a_step = input_stride(l),
                  .b = d,
                  .b_row = layer.stride,
                  .start = is_new ? nullptr : block_sums,
                  .start_row = columns,
                  .c = block_sums,
                  .c_row = columns};
  if (l == 0 && panel == 0 && next_) product.next = next_ + begin, product.next_step = layer.inputs;
  dense_kernels().multiply(product);
}

void NetBatch::add_bias_gradient(std::size_t l, double* gradient, bool is_new) {
  const Layer& layer = net_.layers()[l];
  const std::size_t stride = is_scores(l) ? 1 : layer.stride;
  const double* const d = is_scores(l) ? scores_.data() : forces_[l].data();
  double* const sums = gradient + layer.bias;
  if (is_new) std::fill_n(sums, layer.outputs, 0.0);
  if (layer.single()) {
    for (std::size_t i = 0; i < rows_; ++i) *sums += d[i * stride];
  } else {
    dense_kernels().add_rows(rows_, layer.outputs, ones_.data(), d, stride, sums);
  }
}

void NetBatch::add_weight_gradients(double* gradient, bool is_new) {
  std::size_t parts = 0;
  for (const Layer& layer : net_.layers()) parts += gradient_parts(layer);
  parallel_for(parts, worth() ? num_threads_ : 1, 1,
               [&](std::size_t part, std::size_t) { add_gradient_part(part, gradient, is_new); });
}

void NetBatch::backward(const double* parameters, double* gradient, bool is_new) {
  prepare_backward(parameters);
  parallel_for(rows_, worth() ? num_threads_ : 1, 32,
               [&](std::size_t first, std::size_t last) { backward_rows(parameters, first, last); });
  add_weight_gradients(gradient, is_new);
}

void net_scores(const DenseNet& net, const double* parameters, std::span<const float> features, std::size_t rows,
                const InputMap& map, int num_threads, double* scores) {
  const std::size_t width = net.shape().features(), outputs = net.shape().outputs();
  constexpr std::size_t kRows = 256;
  const bool worth_sharing = rows * width > 100'000;
  parallel_for(rows, worth_sharing ? num_threads : 1, kRows, [&](std::size_t first, std::size_t last) {
    NetBatch batch(net, 1);
    batch.reserve(last - first);
    batch.set_inputs(0, last - first, features.data() + first * width, map);
    batch.forward_rows(parameters, 0, last - first);
    std::copy_n(batch.scores(), (last - first) * outputs, scores + first * outputs);
  });
}

void product(std::size_t rows, std::size_t depth, std::size_t columns, const double* a, const double* b,
             int num_threads, double* out) {
  constexpr std::size_t kRows = 32;
  const std::size_t padded = round_up(columns, 4);
  std::vector<double> panels(padded * depth, 0.0);
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t panel = j / kWidePanel, width = std::min(kWidePanel, padded - panel * kWidePanel);
    double* const to = panels.data() + panel * kWidePanel * depth + (j - panel * kWidePanel);
    for (std::size_t t = 0; t < depth; ++t) to[t * width] = b[t * columns + j];
  }
  parallel_for(rows, num_threads, kRows, [&](std::size_t first, std::size_t last) {
    double sums[kRows * kWidePanel];
    for (std::size_t begin = 0; begin < columns; begin += kWidePanel) {
      const std::size_t width = std::min(kWidePanel, padded - begin), kept = std::min(width, columns - begin);
      dense_kernels().multiply({.rows = last - first,
                                .columns = width,
                                .depth = depth,
                                .a = a + first * depth,
                                .a_row = depth,
                                .a_step = 1,
                                .b = panels.data() + begin * depth,
                                .b_row = width,
                                .start = nullptr,
                                .start_row = 0,
                                .c = sums,
                                .c_row = width});
      for (std::size_t i = first; i < last; ++i) {
        std::copy_n(sums + (i - first) * width, kept, out + i * columns + begin);
      }
    }
  });
}

}  // namespace podium
