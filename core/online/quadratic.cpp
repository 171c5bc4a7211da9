#include "online/quadratic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace podium {
namespace {

// The rest of a pass, which both representations of the function share.
template <class Function, class Absorb>
Tally pass(Function& function, std::span<double> thresholds, const OnlineData& data, int num_threads, Absorb&& absorb) {
  const std::size_t width = data.width();
  OnlineBlock block(width);
  std::vector<double> scores(kOnlineBlock), products(kOnlineBlock);
  std::vector<Change> changes;
  Tally tally;
  for (std::size_t begin = 0; begin < data.rows.size(); begin += kOnlineBlock) {
    check_interrupt();
    const auto rows = data.rows.subspan(begin, std::min(kOnlineBlock, data.rows.size() - begin));
    block.fill(data.features.data(), rows, data.map);
    function.scores(block, rows.size(), num_threads, scores.data());
    changes.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto level = static_cast<std::size_t>(data.levels[static_cast<std::size_t>(rows[i])]);
      const double sum = prank_step(scores[i], level, thresholds.size(), thresholds.data(), tally);
      if (sum == 0) continue;
      changes.push_back({i, sum});
      const std::size_t rest = rows.size() - i - 1;
      if (rest == 0) continue;
      dense_kernels().dots(rest, width, block.row(i + 1), block.stride(), block.row(i), 1.0, products.data());
      for (std::size_t k = 0; k < rest; ++k) scores[i + 1 + k] += sum * products[k] * products[k];
    }
    if (!changes.empty()) absorb(block, rows, changes, num_threads);
  }
  return tally;
}

}  // namespace

Quadratic::Quadratic(std::size_t width)
    : width_(width),
      matrix_(width * row_stride(width), 0.0),
      linear_(width, 0.0),
      sums_(panels() * kOnlineBlock),
      raised_(kOnlineBlock * row_stride(width), 0.0),
      taken_(kOnlineBlock * row_stride(width), 0.0) {}

std::size_t Quadratic::columns(std::size_t panel) const {
  return std::min(kPanel, round_up(width_, 4) - panel * kPanel);
}

void Quadratic::set(std::span<const double> given) {
  for (std::size_t i = 0; i < width_; ++i) std::copy_n(given.data() + i * width_, width_, &matrix_[i * stride()]);
  std::copy_n(given.data() + width_ * width_, width_, linear_.begin());
  constant_ = given[width_ * width_ + width_];
}

void Quadratic::get(double* given) const {
  for (std::size_t i = 0; i < width_; ++i) std::copy_n(&matrix_[i * stride()], width_, given + i * width_);
  std::copy_n(linear_.begin(), width_, given + width_ * width_);
  given[width_ * width_ + width_] = constant_;
}

void Quadratic::scores(OnlineBlock& block, std::size_t rows, int num_threads, double* out) {
  const DenseKernels& kernels = dense_kernels();
  parallel_for(panels(), rows * width_ * width_ > 100'000 ? num_threads : 1, 1,
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t p = first; p < last; ++p) {
                   double products[kOnlineBlock * kPanel];
                   kernels.multiply({.rows = rows,
                                     .columns = columns(p),
                                     .depth = width_,
                                     .a = block.row(0),
                                     .a_row = block.stride(),
                                     .a_step = 1,
                                     .b = matrix_.data() + p * kPanel,
                                     .b_row = stride(),
                                     .start = nullptr,
                                     .start_row = 0,
                                     .c = products,
                                     .c_row = kPanel});
                   for (std::size_t i = 0; i < rows; ++i) {
                     const double* const x = block.row(i) + p * kPanel;
                     double sum = 0;
                     for (std::size_t j = 0; j < columns(p); ++j) sum += products[i * kPanel + j] * x[j];
                     sums_[p * kOnlineBlock + i] = sum;
                   }
                 }
               });
  kernels.dots(rows, width_, block.row(0), block.stride(), linear_.data(), constant_, out);
  for (std::size_t p = 0; p < panels(); ++p) {
    for (std::size_t i = 0; i < rows; ++i) out[i] += sums_[p * kOnlineBlock + i];
  }
}

void Quadratic::add(OnlineBlock& block, std::span<const Change> changes, double linear, int num_threads) {
  const DenseKernels& kernels = dense_kernels();
  for (std::size_t k = 0; k < changes.size(); ++k) {
    const double* const x = block.row(changes[k].row);
    for (std::size_t j = 0; j < width_; ++j) {
      taken_[k * stride() + j] = x[j];
      raised_[k * stride() + j] = changes[k].amount * x[j];
    }
    kernels.step(width_, linear * changes[k].amount, x, linear_.data());
    constant_ += changes[k].amount;
  }
  parallel_for(panels(), changes.size() * width_ * width_ > 100'000 ? num_threads : 1, 1,
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t p = first; p < last; ++p) {
                   double* const sums = matrix_.data() + p * kPanel;
                   kernels.multiply({.rows = width_,
                                     .columns = columns(p),
                                     .depth = changes.size(),
                                     .a = raised_.data(),
                                     .a_row = 1,
                                     .a_step = stride(),
                                     .b = taken_.data() + p * kPanel,
                                     .b_row = stride(),
                                     .start = sums,
                                     .start_row = stride(),
                                     .c = sums,
                                     .c_row = stride()});
                 }
               });
}

void Supports::scores(OnlineBlock& block, std::size_t rows, int num_threads, double* out) {
  const DenseKernels& kernels = dense_kernels();
  const std::size_t panels = (count() + kPanel - 1) / kPanel;
  sums_.resize(panels * kOnlineBlock);
  parallel_for(panels, rows * count() * width_ > 100'000 ? num_threads : 1, 4,
               [&](std::size_t first, std::size_t last) {
                 for (std::size_t p = first; p < last; ++p) {
                   double products[kOnlineBlock * kPanel];
                   kernels.multiply({.rows = rows,
                                     .columns = kPanel,
                                     .depth = width_,
                                     .a = block.row(0),
                                     .a_row = block.stride(),
                                     .a_step = 1,
                                     .b = inputs_.data() + p * width_ * kPanel,
                                     .b_row = kPanel,
                                     .start = nullptr,
                                     .start_row = 0,
                                     .c = products,
                                     .c_row = kPanel});
                   const std::size_t held = std::min(kPanel, count() - p * kPanel);
                   for (std::size_t i = 0; i < rows; ++i) {
                     double sum = 0;
                     for (std::size_t j = 0; j < held; ++j) {
                       const double k = 1 + products[i * kPanel + j];
                       sum += alpha_[p * kPanel + j] * (k * k);
                     }
                     sums_[p * kOnlineBlock + i] = sum;
                   }
                 }
               });
  std::fill_n(out, rows, 0.0);
  for (std::size_t p = 0; p < panels; ++p) {
    for (std::size_t i = 0; i < rows; ++i) out[i] += sums_[p * kOnlineBlock + i];
  }
}

void Supports::add(OnlineBlock& block, std::span<const Change> changes, std::span<const std::uint64_t> keys) {
  for (const Change& change : changes) {
    const std::uint64_t key = keys[change.row];
    const auto known = slots_.find(key);
    if (known == slots_.end()) {
      append(block.row(change.row), change.amount, key);
    } else if ((alpha_[known->second] += change.amount) == 0) {
      remove(known->second);
    }
  }
  keep_budget();
}

void Supports::append(const double* inputs, double alpha, std::uint64_t key) {
  const std::size_t slot = count();
  if (slot % kPanel == 0) inputs_.resize((slot / kPanel + 1) * width_ * kPanel, 0.0);
  double* const to = place(slot);
  double squares = 0;
  for (std::size_t j = 0; j < width_; ++j) {
    to[j * kPanel] = inputs[j];
    squares += inputs[j] * inputs[j];
  }
  alpha_.push_back(alpha);
  size_.push_back(1 + squares);
  keys_.push_back(key);
  slots_[key] = slot;
}

void Supports::get(std::size_t slot, double* inputs) const {
  const double* const from = inputs_.data() + slot / kPanel * width_ * kPanel + slot % kPanel;
  for (std::size_t j = 0; j < width_; ++j) inputs[j] = from[j * kPanel];
}

// The last one takes its place.
void Supports::remove(std::size_t slot) {
  const std::size_t last = count() - 1;
  slots_.erase(keys_[slot]);
  if (slot != last) {
    const double* const from = place(last);
    double* const to = place(slot);
    for (std::size_t j = 0; j < width_; ++j) to[j * kPanel] = from[j * kPanel];
    alpha_[slot] = alpha_[last], size_[slot] = size_[last], keys_[slot] = keys_[last];
    slots_[keys_[slot]] = slot;
  }
  alpha_.pop_back();
  size_.pop_back();
  keys_.pop_back();
}

void Supports::keep_budget() {
  while (count() > budget_) {
    std::size_t least = 0;
    for (std::size_t s = 1; s < count(); ++s) {
      if (std::abs(alpha_[s]) * size_[s] < std::abs(alpha_[least]) * size_[least]) least = s;
    }
    remove(least);
  }
}

Tally prank_pass(Quadratic& function, std::span<double> thresholds, const OnlineData& data, int num_threads) {
  return pass(function, thresholds, data, num_threads,
              [&](OnlineBlock& block, std::span<const std::int64_t>, std::span<const Change> changes, int num_threads) {
                function.add(block, changes, 2.0, num_threads);
              });
}

Tally prank_pass(Supports& function, std::span<double> thresholds, const OnlineData& data, int num_threads) {
  std::vector<std::uint64_t> keys(kOnlineBlock);
  return pass(function, thresholds, data, num_threads,
              [&](OnlineBlock& block, std::span<const std::int64_t> rows, std::span<const Change> changes, int) {
                for (std::size_t i = 0; i < rows.size(); ++i) keys[i] = data.keys[static_cast<std::size_t>(rows[i])];
                function.add(block, changes, keys);
              });
}

void quadratic_scores(Quadratic& function, std::span<const float> features, std::size_t rows, const InputMap& map,
                      int num_threads, double* out) {
  OnlineBlock block(function.width());
  std::vector<std::int64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t begin = 0; begin < rows; begin += kOnlineBlock) {
    const std::size_t some = std::min(kOnlineBlock, rows - begin);
    check_interrupt();
    block.fill(features.data(), std::span(numbers).subspan(begin, some), map);
    function.scores(block, some, num_threads, out + begin);
  }
}

void quadratic_backward(Quadratic& zero, std::span<const float> features, std::size_t rows, const InputMap& map,
                        std::span<const double> force, int num_threads) {
  OnlineBlock block(zero.width());
  std::vector<std::int64_t> numbers(rows);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<Change> changes;
  for (std::size_t begin = 0; begin < rows; begin += kOnlineBlock) {
    const std::size_t some = std::min(kOnlineBlock, rows - begin);
    check_interrupt();
    block.fill(features.data(), std::span(numbers).subspan(begin, some), map);
    changes.clear();
    for (std::size_t i = 0; i < some; ++i) changes.push_back({i, force[begin + i]});
    zero.add(block, changes, 1.0, num_threads);
  }
}

}  // namespace podium
